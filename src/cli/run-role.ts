/**
 * What all long-running commands do around their parts: open the log, run until a signal, say the last word.
 */

import { type ListenAddress, ListenError } from '../network/listen.ts'
import { Lifecycle, type Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import { ExplainedError } from '../runtime/explained-error.ts'
import { componentLogger, createLogger, type Logger } from '../telemetry/logger.ts'
import { flagOf, type Role, variableOf } from './config/option.ts'
import type { CommandContext } from './context.ts'
import { LoggedError } from './failure.ts'
import { stopOnSignals } from './signals.ts'

const lastResortEvents = ['uncaughtException', 'unhandledRejection'] as const

export interface LogSettings {
  readonly logLevel: Parameters<typeof createLogger>[0]['level']
  readonly logFormat: 'auto' | 'human' | 'json'
}

export function openLog({ stderr, environment, clock }: CommandContext, { logLevel, logFormat }: LogSettings): Logger {
  const terminal = stderr.isTTY === true
  const format = logFormat === 'auto' ? (terminal ? 'human' : 'json') : logFormat
  const color = terminal && (environment['NO_COLOR'] ?? '') === ''
  return createLogger({ level: logLevel, format, color, destination: stderr, clock })
}

/** Names the flag and the variable that chose the address which could not be had. */
export function addressRemedy(role: Role, addresses: Readonly<Record<string, ListenAddress | ListenAddress[]>>) {
  return ({ address }: ListenError): string => {
    const isMeant = ([, chosen]: [string, ListenAddress | ListenAddress[]]): boolean =>
      [chosen].flat().some(({ host, port }) => host === address.host && port === address.port)
    const [key = ''] = Object.entries(addresses).find(isMeant) ?? []
    return `choose another address with ${flagOf(key)} or ${variableOf(role, key)}`
  }
}

export interface RoleRun {
  readonly name: string
  readonly parts: readonly Part[]
  readonly logger: Logger
  readonly net: SafetyNet
  readonly drainTimeoutMs: number
  /** Which setting to change when an address cannot be had. */
  addressRemedy(error: ListenError): string
  onReady(): void
}

/** `prepare` gets the lifecycle before it runs, for health checks. */
export async function runRole(
  context: CommandContext,
  run: RoleRun,
  prepare: (lifecycle: Lifecycle) => void,
): Promise<void> {
  const logger = componentLogger(run.logger, run.name)
  const lifecycle = new Lifecycle({ parts: run.parts, clock: context.clock, logger, drainLimitMs: run.drainTimeoutMs })
  prepare(lifecycle)
  const stop = stopOnSignals(context, logger, run.drainTimeoutMs)
  let release = (): void => {}
  try {
    await lifecycle.run(stop.signal, () => {
      release = catchTheRest(context, run.net)
      context.onReady?.()
      run.onReady()
      logger.info('ready')
    })
    logger.info('stopped')
  } catch (error) {
    throw logged(logger, run, error)
  } finally {
    release()
    stop.release()
  }
}

/** From here on stderr is a log, one entry per line: the last word goes there too. */
function logged(logger: Logger, run: RoleRun, error: unknown): LoggedError {
  const failure = new LoggedError(`${run.name} failed`, { cause: error })
  if (error instanceof ListenError) logger.fatal(`${error.message}; ${run.addressRemedy(error)}`)
  else if (error instanceof ExplainedError) logger.fatal(error.message)
  else logger.fatal({ err: error }, 'unexpected error')
  return failure
}

/**
 * What gets past every net of a role that serves: it is counted and logged, and the process goes on. Ending it would cut off
 * everybody, and a peer that can cause one such error can cause the next after each restart. Parts whose failure leaves nothing
 * to serve say so themselves and end the process; docs/security.md has the reasons. Returns how to stop: from then on such an
 * error ends the process, as it does before.
 */
export function catchTheRest({ signals }: Pick<CommandContext, 'signals'>, net: SafetyNet): () => void {
  const onError = (error: unknown): void => net.caught('process', error)
  for (const event of lastResortEvents) signals.on(event, onError)
  return () => {
    for (const event of lastResortEvents) signals.off(event, onError)
  }
}
