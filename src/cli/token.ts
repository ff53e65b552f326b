/**
 * `causeway token create|list|revoke`: who may join. Works with a kubeconfig; no hub has to run on this machine.
 */
import { type Command, Option as CommanderOption } from 'commander'
import { isExactName, type TokenWish, tokenWishProblem } from '../hub/cluster/mint-token.ts'
import { TokenAdministration } from '../hub/cluster/token-administration.ts'
import { MAX_TOKEN_USES, type TokenRecord } from '../hub/cluster/token-records.ts'
import { readValue } from './config/read-value.ts'
import { integer, period } from './config/values.ts'
import type { CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { type ClusterFlags, clusterCommand, withClient } from './kube-connection.ts'
import { OUTPUT_FORMATS, type OutputFormat, renderList } from './output.ts'
import { print } from './print.ts'

const HELP = `
A token says which hub to trust and lets a node in. It is good for 24 hours and
for any node name that nobody has, unless told otherwise. Only a token for
exactly one node may take over a name that is in use; so such a token is good
for one join, unless --uses says otherwise.

Examples:
  causeway token create --kubeconfig admin.kubeconfig --node edge-1 > token
  causeway token create --node 'store-*' --ttl 7d
  causeway token list
  causeway token revoke 3f9c2a81d0b46e75
`

export function addTokenCommand(program: Command, context: CommandContext): void {
  const token = program.command('token').description('make, list and revoke join tokens').addHelpText('after', HELP)
  clusterCommand(token, 'create', 'print a new token, and nothing else')
    .option('--node <name>', 'the node it is for, or a pattern with *')
    .option('--ttl <period>', 'how long it is good', '24h')
    .option('--uses <number>', 'how many joins it is good for; without it one for an exact --node, else any number')
    .action(async (flags: ClusterFlags & { node?: string; ttl: string; uses?: string }) => {
      const wish = wishOf(flags)
      await administer(context, flags, async (tokens) => await print(context, `${(await tokens.create(wish)).text}\n`))
    })
  clusterCommand(token, 'list', 'show which tokens there are; never the tokens themselves')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .action(async (flags: ClusterFlags & { output?: OutputFormat }) => {
      await administer(context, flags, async (tokens) => {
        const { records, damaged } = await tokens.list()
        await print(context, renderTokens(records, context.clock.nowMs(), flags.output))
        for (const { name, problem } of damaged) context.stderr.write(`warning: ${name} cannot be read: ${problem}\n`)
      })
    })
  clusterCommand(token, 'revoke', 'no node may join with it from now on')
    .argument('<id>', 'as "token list" shows it')
    .action(async (id: string, flags: ClusterFlags) => {
      await administer(context, flags, async (tokens) => {
        const result = await tokens.revoke(id)
        if (result === 'unknown') throw new CommandError(`there is no token ${id}; see "causeway token list"`)
        await print(context, `token ${id} ${result === 'revoked' ? 'is revoked' : 'was revoked before'}\n`)
      })
    })
}

const flagOf = { node: '--node', lifeMs: '--ttl', uses: '--uses' } as const

function wishOf({
  node,
  ttl,
  uses,
}: {
  readonly node?: string
  readonly ttl: string
  readonly uses?: string
}): TokenWish {
  const limit = uses === undefined ? defaultUses(node) : readValue(integer(1, MAX_TOKEN_USES), uses, '--uses')
  const wish = {
    node,
    lifeMs: readValue(period, ttl, '--ttl'),
    uses: limit,
  }
  const problem = tokenWishProblem(wish)
  if (problem !== undefined) throw new UsageError(`${flagOf[problem.member]}: ${problem.message}`)
  return wish
}

/** What may take a name that is in use should be worth nothing once it has. */
function defaultUses(node: string | undefined): number | undefined {
  return node !== undefined && isExactName(node) ? 1 : undefined
}

async function administer(
  context: CommandContext,
  flags: ClusterFlags,
  work: (tokens: TokenAdministration) => Promise<void>,
): Promise<void> {
  const { clock } = context
  const { namespace } = flags
  await withClient(context, flags, (client) => work(new TokenAdministration({ client, namespace, clock })))
}

function renderTokens(records: readonly TokenRecord[], nowMs: number, output: OutputFormat | undefined): string {
  const entries = records.map((record) => ({
    id: record.id,
    state: stateOf(record, nowMs),
    node: record.node ?? '*',
    used: record.uses === undefined ? '-' : `${record.used.length}/${record.uses}`,
    created: new Date(record.createdMs).toISOString(),
    expires: new Date(record.expiresMs).toISOString(),
  }))
  return renderList(entries, ['id', 'state', 'node', 'used', 'expires'], output)
}

function stateOf({ revokedMs, expiresMs, uses, used }: TokenRecord, nowMs: number): string {
  if (revokedMs !== undefined) return 'revoked'
  if (expiresMs <= nowMs) return 'expired'
  return uses !== undefined && used.length >= uses ? 'used up' : 'valid'
}
