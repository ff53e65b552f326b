/**
 * `causeway ca rotate|retire`: replacing the CA of the edges while they are out there.
 */
import type { Command } from 'commander'
import { type Rollover, retirePrevious, rollOver } from '../hub/cluster/ca-rollover.ts'
import { systemRandom } from '../hub/cluster/random.ts'
import { formatName } from '../identity/distinguished-name.ts'
import type { CommandContext } from './context.ts'
import { type ClusterFlags, clusterCommand, withClient } from './kube-connection.ts'
import { print } from './print.ts'

const HELP = `
"rotate" makes a new CA that the old one vouches for. Hubs use it within a
minute, edges learn of it by themselves, also those that are offline now.
"retire" ends the trust in the old one: do it when every edge has renewed its
certificate. docs/operations.md has the whole story.

Examples:
  causeway ca rotate --kubeconfig admin.kubeconfig
  causeway ca retire --kubeconfig admin.kubeconfig
`

export function addCaCommand(program: Command, context: CommandContext): void {
  const ca = program.command('ca').description('replace the CA of the edges').addHelpText('after', HELP)
  const add = (name: string, description: string, work: typeof rollOver): void => {
    clusterCommand(ca, name, description).action(async (flags: ClusterFlags) => {
      const { namespace } = flags
      await withClient(context, flags, async (client) => {
        const done = await work({ client, namespace, clock: context.clock, random: systemRandom })
        await print(context, describe(done))
      })
    })
  }
  add('rotate', 'make a new CA; the old one stays trusted', rollOver)
  add('retire', 'trust the present CA alone', retirePrevious)
}

function describe({ signing, previous }: Rollover): string {
  const others = previous.map(({ subject }) => formatName(subject)).join('; ') || 'none'
  return `signing: ${formatName(signing.subject)}, until ${new Date(signing.notAfterMs).toISOString()}\nstill trusted: ${others}\n`
}
