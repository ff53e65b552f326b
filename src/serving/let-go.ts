/**
 * Node keeps every HTTP/2 stream that is over until the next full collection of garbage, because of its native half. All that
 * listens to the stream would stay with it, and be copied about until then: several times what the stream itself needs.
 */
import type { Http2Stream } from 'node:http2'

const ignore = (): void => {}

/** For a stream that has said `close`: after that it says nothing more. */
export function letGo(stream: Http2Stream): void {
  // Without this one first, all others would be taken away one by one, each with an event of its own.
  stream.removeAllListeners('removeListener')
  stream.removeAllListeners()
  stream.on('error', ignore)
}
