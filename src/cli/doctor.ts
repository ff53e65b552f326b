/**
 * `causeway doctor`: what is wrong with an edge on this node, and what to do about it.
 */
import { resolve } from 'node:path'
import { type Command, Option as CommanderOption } from 'commander'
import type { CommandContext } from './context.ts'
import { renderFindings, runChecks } from './doctor/checks.ts'
import { machineReaders } from './doctor/machine-readers.ts'
import { EXIT_CODES, LoggedError } from './failure.ts'
import { print } from './print.ts'

const HELP = `
Looks at the data folder of an edge, asks its running process, and tries its
endpoint. It changes nothing. Some checks see more as root. Each line is ok,
warn or fail; below what is not ok stands what to do. Exits 1 if anything fails.

Examples:
  causeway doctor --data-dir /var/lib/causeway
  causeway doctor --data-dir .causeway/edges/edge-1    an edge of "causeway up"
  causeway doctor -o json
`

export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('find out what is wrong with an edge on this node')
    .option('--data-dir <path>', 'data folder of the edge', '.causeway')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(['json']))
    .addHelpText('after', HELP)
    .action(async ({ dataDir, output }: { dataDir: string; output?: 'json' }) => {
      const findings = await runChecks(machineReaders(context, resolve(context.workingDir, dataDir)))
      await print(context, output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : renderFindings(findings))
      // All there is to say stands above.
      if (findings.some(({ state }) => state === 'fail')) throw new LoggedError(`exit ${EXIT_CODES.failed}`)
    })
}
