/**
 * The command line: one file per command, put together here.
 */
import { Command, CommanderError } from 'commander'
import { ExplainedError } from '../runtime/explained-error.ts'
import { BUILD } from './build.ts'
import type { CommandContext } from './context.ts'
import { CommandError, EXIT_CODES, LoggedError } from './failure.ts'
import { print } from './print.ts'

const HELP = `
Every flag of the roles (up, apiserver, hub, edge) is also a key in a YAML file
(--config) and an environment variable: --health-address of "up" is
healthAddress and CAUSEWAY_UP_HEALTH_ADDRESS. Other commands have flags only.
A flag wins over the environment, that over the file, that over the default.

Data stays in ./.causeway unless --data-dir says otherwise.
Logs go to stderr: readable on a terminal, JSON elsewhere.

Exit codes:
  0  done, or stopped by SIGTERM, SIGHUP or Ctrl-C
  1  failed
  2  the command line or the configuration is wrong; nothing was done
"causeway run" ends with the exit code of its program.

Examples:
  causeway up                      run, until Ctrl-C
  causeway up --help               its settings
  causeway run -- kubectl get pods   a program as a pod on an edge would run
  causeway config print -o wide    every setting and where it comes from
`

type AddCommand = (program: Command, context: CommandContext) => void

/** In the order of `--help`. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  up: async () => (await import('./up.ts')).addUpCommand,
  apiserver: async () => (await import('./apiserver.ts')).addApiServerCommand,
  hub: async () => (await import('./hub.ts')).addHubCommand,
  edge: async () => (await import('./edge.ts')).addEdgeCommand,
  run: async () => (await import('./run.ts')).addRunCommand,
  token: async () => (await import('./token.ts')).addTokenCommand,
  nodes: async () => (await import('./nodes.ts')).addNodesCommand,
  link: async () => (await import('./link.ts')).addLinkCommand,
  ca: async () => (await import('./ca.ts')).addCaCommand,
  status: async () => (await import('./status.ts')).addStatusCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  config: async () => (await import('./config.ts')).addConfigCommand,
  version: async () => (await import('./version.ts')).addVersionCommand,
}

/** Longer lines are hard to read, however wide the terminal. */
const MAX_HELP_COLUMNS = 110

/** Runs one command to its end and returns the exit code. */
export async function runProgram(args: readonly string[], context: CommandContext): Promise<number> {
  let help = ''
  const program = await createProgram(args, context, (text) => {
    help += text
  })
  try {
    await parse(program, args)
    if (help !== '') await print(context, help)
    return EXIT_CODES.done
  } catch (error) {
    return report(error, context)
  }
}

/** Commander ends `--help` and `--version` with an error that is none. */
async function parse(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(isHelpForNobody(args) ? args.slice(1) : args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
  }
}

/** Commander explains everything to who asks for the help of a command that there is not; asked for the command itself, it says so. */
function isHelpForNobody([first, name = '']: readonly string[]): boolean {
  return first === 'help' && /^[^-]/.test(name) && name !== first && !Object.hasOwn(commands, name)
}

/** `writeHelp` gets what `--help` and `--version` say. */
async function createProgram(
  args: readonly string[],
  context: CommandContext,
  writeHelp: (text: string) => void,
): Promise<Command> {
  const program = new Command('causeway')
    .description('The road between an edge site and its Kubernetes control plane.')
    .version(BUILD.version, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'explain a command')
    .showHelpAfterError('(see --help)')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: writeHelp,
      writeErr: (text) => context.stderr.write(text),
      getOutHelpWidth: () => Math.min(context.stdout.columns ?? MAX_HELP_COLUMNS, MAX_HELP_COLUMNS),
    })
  for (const load of loadersFor(args)) (await load())(program, context)
  return program
}

/** Only what is asked for: an edge has no use for the code of an API server, nor memory to give to it. */
function loadersFor([name = '']: readonly string[]): readonly (() => Promise<AddCommand>)[] {
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined
  return named === undefined ? Object.values(commands) : [named]
}

function report(error: unknown, { stderr }: CommandContext): number {
  // Commander has printed its own; what it calls an error is a wrong command line.
  if (error instanceof CommanderError) return EXIT_CODES.usage
  if (error instanceof LoggedError) return error.exitCode
  if (error instanceof ExplainedError) {
    stderr.write(`error: ${error.message}\n`)
    return error instanceof CommandError ? error.exitCode : EXIT_CODES.failed
  }
  stderr.write(
    `error: unexpected, please report it: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return EXIT_CODES.failed
}
