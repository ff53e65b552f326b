/**
 * What a client of HTTP/2 still sends when it has been answered. It flows away for a moment, which is enough for most; whoever
 * goes on would keep the stream open as long as it likes, and is told to stop.
 */

import type { Clock } from '../../runtime/clock.ts'
import type { Http2Stream, StreamHandler } from '../http2/stream.ts'
import { ErrorCode } from '../http2/wire.ts'
import { EARLY_ANSWER_LINGER_MS } from './limits.ts'

export class UnreadRest implements StreamHandler {
  readonly #stream: Http2Stream
  readonly #stopWaiting: () => void

  constructor(stream: Http2Stream, clock: Clock) {
    this.#stream = stream
    // Without an error: the answer is complete, and to be believed.
    this.#stopWaiting = clock.schedule(EARLY_ANSWER_LINGER_MS, () => stream.reset(ErrorCode.noError))
  }

  onHead(): void {}

  onData(): void {}

  onEnd(): void {}

  onDrain(): void {}

  /** Heard at once, by a stream that has sent everything. */
  onSent(): void {
    this.#stream.resume()
  }

  onClose(): void {
    this.#stopWaiting()
  }
}
