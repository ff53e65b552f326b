/** Tells of clients that were cut because they do not read, and no more often than somebody can read it. */
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Lines in the log about clients that do not read, per second; the metric counts all. */
export const STALLED_READERS_LOGGED_PER_SECOND = 1
/** Lines in the log about clients that do not read that may follow one another at once; the next one tells how many were left out. */
export const STALLED_READERS_LOG_BURST = 10

export function stalledReaderLog(logger: Logger, clock: Clock): (unsentBytes: number) => void {
  const lines = new LineLimit(clock, STALLED_READERS_LOGGED_PER_SECOND, STALLED_READERS_LOG_BURST)
  return (unsentBytes) => {
    const line = lines.admit()
    if (line === undefined) return
    logger.warn({ unsentBytes, ...line }, 'a client does not read what it has asked for; what waited for it was cut')
  }
}
