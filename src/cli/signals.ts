/**
 * SIGTERM, SIGINT and SIGHUP: the first asks for a clean stop, the second ends the process at once.
 */
import { constants } from 'node:os'
import type { Logger } from '../telemetry/logger.ts'
import type { CommandContext } from './context.ts'

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
type StopSignal = (typeof STOP_SIGNALS)[number]

/**
 * One request to stop may arrive twice: whoever stops a whole process group (a terminal at Ctrl-C, a shell, a service
 * manager) tells us, and tells npm or the shell that started us, which pass it on. The same signal this soon after the
 * first is the same request.
 */
export const SIGNAL_ECHO_MS = 500

export interface StopRequest {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal
  /** Stops listening. */
  release(): void
}

/** What is under way at a clean stop may go on for `drainLimitMs`. */
export function stopOnSignals(context: CommandContext, logger: Logger, drainLimitMs: number): StopRequest {
  const { clock, signals, exit } = context
  const controller = new AbortController()
  let first: { readonly name: StopSignal; readonly atMs: number } | undefined
  const onSignal = (name: StopSignal): void => {
    if (first === undefined) {
      first = { name, atMs: clock.monotonicMs() }
      const until = new Date(clock.nowMs() + drainLimitMs).toISOString()
      logger.info({ signal: name, until }, 'stopping; a second signal ends the process at once')
      controller.abort(new Error(`stopped by ${name}`))
      return
    }
    const echo = name === first.name && clock.monotonicMs() - first.atMs < SIGNAL_ECHO_MS
    if (!echo) exit(128 + constants.signals[name])
  }
  for (const name of STOP_SIGNALS) signals.on(name, onSignal)
  return {
    signal: controller.signal,
    release: () => {
      for (const name of STOP_SIGNALS) signals.off(name, onSignal)
    },
  }
}
