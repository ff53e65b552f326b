/** Ends an HTTP/2 session on which nothing has been under way for too long, from its first moment on. */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Clock } from '../telemetry/clock.ts'
import { IDLE_CONNECTION_MS } from './limits.ts'

/** One timer for the life of a session, not one a request: what it finds decides when it looks again. */
export function endWhenIdle(session: Pick<ServerHttp2Session, 'on' | 'once' | 'close'>, clock: Clock): void {
  let openStreams = 0
  let idleSinceMs = clock.monotonicMs()
  let cancel = (): void => {}
  const look = (): void => {
    const idleMs = openStreams > 0 ? 0 : clock.monotonicMs() - idleSinceMs
    if (idleMs >= IDLE_CONNECTION_MS) session.close()
    else cancel = clock.schedule(IDLE_CONNECTION_MS - idleMs, look)
  }
  session.on('stream', (stream: ServerHttp2Stream) => {
    openStreams++
    stream.once('close', () => {
      openStreams--
      idleSinceMs = clock.monotonicMs()
    })
  })
  session.once('close', () => cancel())
  look()
}
