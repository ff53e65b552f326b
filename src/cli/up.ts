/**
 * `causeway up`: everything there is, on this machine, in one process. The list of parts below is the program.
 */
import type { Command } from 'commander'
import { kubernetesVersion } from '../kube/schema/schema.ts'
import { HealthChecks } from '../telemetry/health.ts'
import { HealthServer } from '../telemetry/health-server.ts'
import { Lifecycle } from '../telemetry/lifecycle.ts'
import { ListenError } from '../telemetry/listen.ts'
import { componentLogger, createLogger, type Logger } from '../telemetry/logger.ts'
import { createRoleRegistry } from '../telemetry/metrics.ts'
import { BUILD } from './build.ts'
import { addRoleFlags } from './config/flags.ts'
import { loadConfig } from './config/load.ts'
import { flagOf, variableOf } from './config/option.ts'
import { type UpConfig, upRole } from './config/up.ts'
import type { CommandContext } from './context.ts'
import { DataDir } from './data-dir.ts'
import { CommandError, LoggedError } from './failure.ts'
import { renderReadyScreen } from './ready-screen.ts'
import { stopOnSignals } from './signals.ts'

const HELP = `
Runs until stopped. Prints a screen that starts with "ready" on stdout once it
serves; logs go to stderr. The first Ctrl-C or SIGTERM lets what is under way
end and exits 0; a second one exits at once.

A flag wins over its environment variable (in brackets), that over the file,
that over the default. "causeway config print" shows where each value is from.

Examples:
  causeway up
  causeway up --data-dir /tmp/try --health-address 127.0.0.1:0
  CAUSEWAY_UP_LOG_LEVEL=debug causeway up --config up.yaml
  curl 'http://127.0.0.1:10551/readyz?verbose'

A file for --config (paths in it are relative to its folder):
  dataDir: ./data
  healthAddress: 127.0.0.1:10551
  logLevel: debug
`

export function addUpCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('up')
    .description('run everything on this machine, in one process')
    .addHelpText('after', HELP)
    .action(async (flags: Record<string, unknown>) => {
      const { environment, workingDir } = context
      await runUp(context, loadConfig(upRole, { flags, environment, workingDir }).values)
    })
  addRoleFlags(command, upRole)
}

async function runUp(context: CommandContext, config: UpConfig): Promise<void> {
  const { clock } = context
  const rootLogger = openLog(context, config)
  const logger = componentLogger(rootLogger, 'up')
  const health = new HealthChecks(clock)
  const dataDir = new DataDir(config.dataDir, upRole.name)
  const healthServer = new HealthServer({
    address: config.healthAddress,
    health,
    registry: createRoleRegistry(upRole.name, BUILD),
    logger: componentLogger(rootLogger, 'health'),
  })
  const lifecycle = new Lifecycle({
    parts: [
      // First and therefore last to go: nothing may touch the folder without holding it.
      dataDir,
      // Before everything that takes time to start or to stop, so that probes can watch it happen.
      healthServer,
    ],
    clock,
    logger,
    drainLimitMs: config.drainTimeout,
  })
  health.addReadiness('lifecycle', () => lifecycle.health())
  health.addReadiness('data-dir', () => dataDir.health())

  const stop = stopOnSignals(context, logger)
  try {
    await lifecycle.run(stop.signal, () => {
      const kubernetes = kubernetesVersion()
      const { dataDir: folder } = config
      const facts = {
        ...BUILD,
        kubernetes,
        pid: process.pid,
        dataDir: folder,
        healthAddress: healthServer.boundAddress,
      }
      context.stdout.write(renderReadyScreen({ ...facts, roles: [] }))
      logger.info({ version: BUILD.version, dataDir: config.dataDir }, 'ready')
    })
    logger.info('stopped')
  } catch (error) {
    throw logged(logger, error)
  } finally {
    stop.release()
  }
}

function openLog({ stderr, environment, clock }: CommandContext, { logLevel, logFormat }: UpConfig): Logger {
  const terminal = stderr.isTTY === true
  const format = logFormat === 'auto' ? (terminal ? 'human' : 'json') : logFormat
  const color = terminal && (environment['NO_COLOR'] ?? '') === ''
  return createLogger({ level: logLevel, format, color, destination: stderr, clock })
}

/** From here on stderr is a log, one entry per line: the last word goes there too. */
function logged(logger: Logger, error: unknown): LoggedError {
  const failure = new LoggedError('up failed', { cause: error })
  if (error instanceof ListenError) {
    const remedy = `${flagOf('healthAddress')} or ${variableOf(upRole, 'healthAddress')}`
    logger.fatal(`${error.message}; choose another address with ${remedy}`)
  } else if (error instanceof CommandError) logger.fatal(error.message)
  else logger.fatal({ err: error }, 'unexpected error')
  return failure
}
