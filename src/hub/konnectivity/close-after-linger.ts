/** Ends the client's half of a call that has been answered. A client that keeps it open would keep its connection for ever. */
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Clock } from '../../runtime/clock.ts'
import { HTTP_TIMES } from '../port/http-settings.ts'

export function closeAfterLinger(stream: ServerHttp2Stream, clock: Clock): void {
  if (stream.closed || stream.destroyed) return
  stream.once(
    'close',
    clock.schedule(HTTP_TIMES.lingerMs, () => stream.close(constants.NGHTTP2_NO_ERROR)),
  )
}
