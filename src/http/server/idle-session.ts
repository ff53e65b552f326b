/**
 * Ends a connection of HTTP/2 on which nothing has been under way for too long, from its first moment on, and one with open
 * streams whose client does not answer pings any more.
 */
import type { Clock } from '../../runtime/clock.ts'
import { IDLE_CONNECTION_MS, MAX_UNANSWERED_PINGS } from './limits.ts'

export interface WatchedSession {
  readonly openStreams: number
  /** Since when there are none. */
  readonly idleSinceMs: number
  /** The callback is called with the answer. */
  ping(callback: () => void): void
  /** Ends the session in good order. */
  close(): void
  destroy(): void
}

/** One timer for the life of a session, not one a request: what it finds decides when it looks again. Returns how to stop it. */
export function endWhenIdle(session: WatchedSession, clock: Clock, pingMs = IDLE_CONNECTION_MS): () => void {
  let unansweredPings = 0
  let cancel = (): void => {}
  const ping = (): void => {
    unansweredPings += 1
    session.ping(() => {
      unansweredPings = 0
    })
  }
  const look = (): void => {
    const isBusy = session.openStreams > 0
    const idleMs = isBusy ? 0 : clock.monotonicMs() - session.idleSinceMs
    if (idleMs >= IDLE_CONNECTION_MS) session.close()
    else if (unansweredPings >= MAX_UNANSWERED_PINGS) session.destroy()
    else {
      cancel = clock.schedule(Math.min(pingMs, IDLE_CONNECTION_MS - idleMs), look)
      if (isBusy) ping()
    }
  }
  look()
  return () => cancel()
}
