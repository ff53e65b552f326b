/** What a session is made from, whom it tells, and what it counts. */
import type { Clock } from '../../runtime/clock.ts'
import type { Budget } from './budget.ts'
import type { SessionError } from './errors.ts'
import type { SessionLimits } from './limits.ts'
import type { Stream } from './stream.ts'

export interface SessionHandler {
  /** The peer opened a stream: attach a handler now, accept it now or later, or reset it. */
  onStream(stream: Stream): void
  /** There is something to send. Called again only after `take` has been called. */
  onSendable(): void
  /** The peer accepts no new streams; those that exist go on. */
  onGoAway(): void
  /** A round trip was measured. */
  onRoundTrip(rttMs: number): void
  /** The session is over. Send what `take` still returns, then close the carrier. */
  onEnd(error: SessionError): void
}

export interface SessionOptions {
  /** Who dialled is the client and uses odd stream ids. */
  readonly role: 'client' | 'server'
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly budget: Budget
  readonly handler: SessionHandler
  readonly limits?: Partial<SessionLimits> | undefined
}

/** Running totals, for metrics. */
export interface SessionCounters {
  readonly receivedBytes: number
  readonly sentBytes: number
  readonly openedStreams: number
  readonly acceptedStreams: number
  readonly refusedStreams: number
}
