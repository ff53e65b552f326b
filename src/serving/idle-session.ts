/**
 * Ends an HTTP/2 session on which nothing has been under way for too long, from its first moment on, and one with open
 * streams whose client does not answer pings any more. For some clients there is no other sign of their end: Node reads
 * nothing more after a breach of the protocol, and does not tell of a connection that breaks while it waits to write.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Clock } from '../telemetry/clock.ts'
import { IDLE_CONNECTION_MS, MAX_UNANSWERED_PINGS } from './limits.ts'

/** One timer for the life of a session, not one a request: what it finds decides when it looks again. */
export function endWhenIdle(
  session: Pick<ServerHttp2Session, 'on' | 'once' | 'close' | 'ping' | 'destroy'>,
  clock: Clock,
  pingMs = IDLE_CONNECTION_MS,
): void {
  let openStreams = 0
  let idleSinceMs = clock.monotonicMs()
  let unansweredPings = 0
  let cancel = (): void => {}
  const ping = (): void => {
    unansweredPings += 1
    session.ping(() => {
      unansweredPings = 0
    })
  }
  const look = (): void => {
    const idleMs = openStreams > 0 ? 0 : clock.monotonicMs() - idleSinceMs
    if (idleMs >= IDLE_CONNECTION_MS) session.close()
    else if (unansweredPings >= MAX_UNANSWERED_PINGS) session.destroy()
    else {
      if (openStreams > 0) ping()
      cancel = clock.schedule(Math.min(pingMs, IDLE_CONNECTION_MS - idleMs), look)
    }
  }
  const closed = (): void => {
    openStreams--
    idleSinceMs = clock.monotonicMs()
  }
  session.on('stream', (stream: ServerHttp2Stream) => {
    openStreams++
    // Not by `once`: taking a listener away costs as much as adding it, and this is for each request.
    stream.on('close', closed)
  })
  session.once('close', () => cancel())
  look()
}
