/** The events of one watch, in order, with back-pressure: nothing is read ahead of the consumer but one chunk. */
import type { Readable } from 'node:stream'
import type { KubeObject, WatchEvent } from '../objects.ts'
import { withExplanation } from '../status/generic-response.ts'
import { readFailure } from '../status/read-status.ts'
import { ApiError } from '../status/status.ts'
import { type BodyCodec, BodyDecodeError } from './body-codec.ts'
import { toTransportError } from './transport-error.ts'

/**
 * Ends quietly when the server ends the watch between two events, and when it is closed. Throws the `ApiError` of an ERROR event, a
 * `WatchFrameError` or the codec's error for bytes that make no sense, a `TransportError` when the connection breaks.
 */
export class WatchStream<T extends KubeObject> implements AsyncIterable<WatchEvent<T>> {
  readonly #body: Readable
  readonly #codec: BodyCodec
  readonly #maxEventBytes: number
  readonly #signal: AbortSignal | undefined
  #closed = false

  constructor(body: Readable, codec: BodyCodec, maxEventBytes: number, signal?: AbortSignal) {
    this.#body = body
    this.#codec = codec
    this.#maxEventBytes = maxEventBytes
    this.#signal = signal
  }

  /** Ends the watch from our side. Leaving a `for await` loop does the same. */
  close(): void {
    this.#closed = true
    this.#body.destroy()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const decoder = this.#codec.frameDecoder(this.#maxEventBytes)
    for await (const chunk of this.#chunks()) {
      for (const frame of decoder.push(chunk)) {
        yield this.#event(frame)
        if (this.#closed) return
      }
      if (decoder.failure !== undefined) throw decoder.failure
    }
    if (this.#closed) return
    const failure = decoder.end()
    if (failure !== undefined) throw failure
  }

  async *#chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* this.#body as AsyncIterable<Buffer>
    } catch (error) {
      // Our own hand broke it.
      if (this.#closed) return
      throw this.#signal?.aborted === true ? this.#signal.reason : toTransportError(error, 'watch')
    }
  }

  #event(frame: Uint8Array): WatchEvent<T> {
    const event = this.#codec.decodeEvent(frame)
    if (event.type !== 'ERROR') return event as WatchEvent<T>
    const failure = readFailure(event.object, 500)
    throw failure === undefined
      ? new BodyDecodeError('an ERROR event carries no Status')
      : new ApiError(withExplanation(failure))
  }
}
