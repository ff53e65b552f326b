/**
 * `causeway ca rotate|retire`: replacing the CA of the edges while they are out there.
 */
import type { Command } from 'commander'
import { type Rollover, retirePrevious, rollOver } from '../hub/cluster/ca-rollover.ts'
import type { Certificate } from '../identity/certificate.ts'
import { formatName } from '../identity/distinguished-name.ts'
import { keyFingerprint } from '../identity/keys.ts'
import { systemRandom } from '../runtime/random.ts'
import type { CommandContext } from './context.ts'
import { shortKey } from './control-answers.ts'
import { type ClusterFlags, clusterCommand, withClient } from './kube-connection.ts'
import { print } from './print.ts'

const HELP = `
"rotate" makes a new CA that the old one vouches for. Hubs use it within a
minute, edges learn of it by themselves, also those that are offline now, and
renew their certificates soon after.
"retire" ends the trust in the old one. It refuses as long as nodes have no
certificate of the new one in use ("causeway nodes -o wide" shows the issuer of
each); those would have to join again. docs/operations.md has the whole story.

Examples:
  causeway ca rotate --kubeconfig admin.kubeconfig
  causeway ca retire --kubeconfig admin.kubeconfig
`

export function addCaCommand(program: Command, context: CommandContext): void {
  const ca = program.command('ca').description('replace the CA of the edges').addHelpText('after', HELP)
  clusterCommand(ca, 'rotate', 'make a new CA; the old one stays trusted').action(async (flags: ClusterFlags) => {
    await change(context, flags, rollOver)
  })
  clusterCommand(ca, 'retire', 'trust the present CA alone')
    .option('--force', 'also if nodes are cut off by it and have to join again')
    .action(async ({ force = false, ...flags }: ClusterFlags & { force?: boolean }) => {
      await change(context, flags, (options) => retirePrevious({ ...options, force }))
    })
}

async function change(context: CommandContext, flags: ClusterFlags, work: typeof rollOver): Promise<void> {
  const { namespace } = flags
  await withClient(context, flags, async (client) => {
    const done = await work({ client, namespace, clock: context.clock, random: systemRandom })
    await print(context, describe(done))
  })
}

function describe({ signing, previous }: Rollover): string {
  const others = previous.map(nameOf).join('; ') || 'none'
  return `signing: ${nameOf(signing)}, until ${new Date(signing.notAfterMs).toISOString()}\nstill trusted: ${others}\n`
}

/** With the mark by which "nodes -o wide" names the issuer of a certificate. */
function nameOf({ subject, publicKey }: Certificate): string {
  return `${formatName(subject)} (${shortKey(keyFingerprint(publicKey))})`
}
