/**
 * `causeway status`: how the process that uses a data folder is.
 */
import { resolve } from 'node:path'
import { type Command, Option as CommanderOption } from 'commander'
import { stringify } from 'yaml'
import type { CommandContext } from './context.ts'
import { askRole } from './control-client.ts'
import { print } from './print.ts'

const HELP = `
Asks the running process through the socket in its data folder, which only the
user who runs it, and root, may use.

Examples:
  causeway status                               of "causeway up" here
  causeway status --data-dir /var/lib/causeway  of the edge on this node
`

export function addStatusCommand(program: Command, context: CommandContext): void {
  program
    .command('status')
    .description('show how a running hub, edge or "up" is')
    .option('--data-dir <path>', 'its data folder', '.causeway')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(['yaml', 'json']).default('yaml'))
    .addHelpText('after', HELP)
    .action(async ({ dataDir, output }: { dataDir: string; output: 'yaml' | 'json' }) => {
      const status = await askRole(resolve(context.workingDir, dataDir), '/v1/status')
      await print(context, output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : stringify(status))
    })
}
