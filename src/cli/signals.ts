/**
 * SIGTERM and SIGINT: the first asks for a clean stop, the second ends the process at once.
 */
import { constants } from 'node:os'
import type { Logger } from '../telemetry/logger.ts'
import type { CommandContext } from './context.ts'

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
type StopSignal = (typeof STOP_SIGNALS)[number]

/**
 * Under `npm start` one Ctrl-C arrives twice: from the terminal, which tells the whole process group, and from npm, which
 * passes it on. A SIGINT this soon after another is the same key press.
 */
export const SIGINT_ECHO_MS = 500

export interface StopRequest {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal
  /** Stops listening. */
  release(): void
}

export function stopOnSignals(context: CommandContext, logger: Logger): StopRequest {
  const { clock, signals, exit } = context
  const controller = new AbortController()
  let first: { readonly name: StopSignal; readonly atMs: number } | undefined
  const onSignal = (name: StopSignal): void => {
    if (first === undefined) {
      first = { name, atMs: clock.monotonicMs() }
      logger.info({ signal: name }, 'stopping; a second signal ends the process at once')
      controller.abort(new Error(`stopped by ${name}`))
      return
    }
    const echo = name === 'SIGINT' && first.name === 'SIGINT' && clock.monotonicMs() - first.atMs < SIGINT_ECHO_MS
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
