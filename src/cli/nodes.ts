/**
 * `causeway nodes`: which nodes have joined, and taking a name back.
 */
import { type Command, Option as CommanderOption } from 'commander'
import * as v from 'valibot'
import { ClaimStore } from '../hub/claims/claim-store.ts'
import { TokenAdministration } from '../hub/cluster/token-administration.ts'
import { nodeNameProblem } from '../identity/node-name.ts'
import { systemRandom } from '../runtime/random.ts'
import { createLogger } from '../telemetry/logger.ts'
import { hubRole } from './config/hub.ts'
import type { CommandContext } from './context.ts'
import { describeClaim, type NodeEntry, nodeEntry } from './control-answers.ts'
import { askRole } from './control-client.ts'
import { CommandError, UsageError } from './failure.ts'
import { type ClusterFlags, clusterCommand, withClient } from './kube-connection.ts'
import { OUTPUT_FORMATS, type OutputFormat, renderList } from './output.ts'
import { print } from './print.ts'

const HELP = `
With --data-dir a running hub tells what it knows; with --kubeconfig the
cluster is asked. "forget" releases the name of a node: what its key still
holds ends on all hubs within seconds, and its certificate is good for nothing
any more, until the node joins again with a token. Tokens that were made for
exactly this node are revoked too; one for any node or a pattern is not.

Examples:
  causeway nodes --kubeconfig admin.kubeconfig
  causeway nodes --data-dir .causeway -o wide
  causeway nodes forget edge-1 --kubeconfig admin.kubeconfig
`

const clusterColumns = ['node', 'state', 'since', 'certificateEnds'] as const
/** A running hub also knows how they are connected. */
const hubColumns = ['node', 'state', 'link', 'rtt', 'linkedSince', 'certificateEnds'] as const

export function addNodesCommand(program: Command, context: CommandContext): void {
  const nodes = clusterCommand(program, 'nodes', 'list the nodes that have joined, or forget one')
    .option('--data-dir <path>', 'folder of a running hub to ask, in place of the cluster')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .addHelpText('after', HELP)
    .action(async (flags: ClusterFlags & { dataDir?: string; output?: OutputFormat }) => {
      const entries = flags.dataDir === undefined ? await ofCluster(context, flags) : await ofRole(flags.dataDir)
      const columns = flags.dataDir === undefined ? clusterColumns : hubColumns
      await print(context, renderList(entries, columns, flags.output))
    })
  clusterCommand(nodes, 'forget', 'release the name of a node and end what its key holds')
    .argument('<node>', 'its name')
    .action(async (node: string, _flags: unknown, command: Command) => {
      // The command above has flags of the same names; what stands after either of them counts.
      await forget(context, node, command.optsWithGlobals<ClusterFlags>())
    })
}

async function ofRole(dataDir: string): Promise<NodeEntry[]> {
  const answer = await askRole(dataDir, '/v1/nodes')
  if (answer === undefined) throw new CommandError(`the process that uses ${dataDir} is no ${hubRole.name}`)
  return v.parse(v.array(nodeEntry), answer)
}

async function ofCluster(context: CommandContext, flags: ClusterFlags): Promise<NodeEntry[]> {
  let entries: NodeEntry[] = []
  await withClaims(context, flags, async (claims) => {
    const { claims: found, damaged } = await claims.list()
    for (const { name, problem } of damaged) context.stderr.write(`warning: ${name} cannot be read: ${problem}\n`)
    entries = found.map(describeClaim)
  })
  return entries
}

async function forget(context: CommandContext, node: string, flags: ClusterFlags): Promise<void> {
  const problem = nodeNameProblem(node)
  if (problem !== undefined) throw new UsageError(problem)
  await withClaims(context, flags, async (claims, tokens) => {
    // Tokens first: what is left of one must not take the name again in between.
    const revoked = await tokens.revokeFor(node)
    const wasHeld = await claims.forget(node)
    const done = wasHeld
      ? `node ${node} is forgotten`
      : `nobody held the name ${node}; older certificates for it are refused`
    const also = revoked.length === 0 ? '' : `\ntokens made for it are revoked too: ${revoked.join(', ')}`
    await print(context, `${done}${also}\n`)
  })
}

async function withClaims(
  context: CommandContext,
  flags: ClusterFlags,
  work: (claims: ClaimStore, tokens: TokenAdministration) => Promise<void>,
): Promise<void> {
  const { clock, stderr } = context
  const logger = createLogger({ level: 'warn', format: 'human', destination: stderr, clock })
  const { namespace } = flags
  await withClient(context, flags, (client) =>
    work(
      new ClaimStore({ client, namespace, clock, random: systemRandom, logger }),
      new TokenAdministration({ client, namespace, clock }),
    ),
  )
}
