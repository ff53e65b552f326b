/**
 * Ends an HTTP/2 session that breaks off its streams again and again: each costs the server the work of a request, and the
 * client nothing. The library below has such a limit too, but beyond it Node neither reads on nor sees the client go: what
 * is still open stays until a ping goes unanswered. So, unless all come in one breath, ours is met first.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Clock } from '../telemetry/clock.ts'

/** A client that ends all it has open at once, and some more; the library stops at a thousand. */
export const MAX_STREAM_RESETS_AT_ONCE = 500
/** In the long run; the library allows 33. */
export const MAX_STREAM_RESETS_PER_SECOND = 25

/** Without an error Node forgets the code, and whoever reads an answer takes the cut for its end. */
const tooManyResets = new Error('the client resets its streams faster than it may')

export function endWhenResetting(session: Pick<ServerHttp2Session, 'on' | 'destroy'>, clock: Clock): void {
  let allowed = MAX_STREAM_RESETS_AT_ONCE
  let countedAtMs = clock.monotonicMs()
  const count = (): void => {
    const nowMs = clock.monotonicMs()
    const regained = ((nowMs - countedAtMs) / 1000) * MAX_STREAM_RESETS_PER_SECOND
    allowed = Math.min(MAX_STREAM_RESETS_AT_ONCE, allowed + regained) - 1
    countedAtMs = nowMs
    if (allowed < 0) session.destroy(tooManyResets, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  session.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('close', () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted) count()
    })
  })
}
