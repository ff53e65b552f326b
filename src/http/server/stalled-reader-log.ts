/** Tells of clients that were cut because they do not read, and no more often than somebody can read it. */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Lines in the log; the metric counts all. */
const STALLED_READERS_LOGGED_PER_SECOND = 1

export function stalledReaderLog(logger: Logger, clock: Clock): (unsentBytes: number) => void {
  const lines = new TokenBucket(STALLED_READERS_LOGGED_PER_SECOND, clock.monotonicMs())
  return (unsentBytes) => {
    if (lines.take(clock.monotonicMs()))
      logger.warn({ unsentBytes }, 'a client does not read what it has asked for; its connection was cut')
  }
}
