/**
 * A request body on its way to somebody else. It stands between the connection and its reader, because a reader that gives
 * up destroys what it reads, and the connection still has an answer to carry.
 */
import { Readable } from 'node:stream'
import type { HeaderList } from './exchange.ts'

/** What waits between the client and a slow reader, besides what the connection itself holds. */
const bufferBytes = 64 * 1024

export class RequestBody extends Readable {
  readonly #source: Readable
  readonly #trailers: () => HeaderList
  #receivedBytes = 0
  #isComplete = false

  constructor(source: Readable, trailers: () => HeaderList) {
    super({ highWaterMark: bufferBytes })
    this.#source = source
    this.#trailers = trailers
    source.on('data', this.#onData)
    source.once('end', this.#onEnd)
    source.once('close', this.#onClose)
    source.once('error', this.#onClose)
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Whether the client has sent all of it. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Complete when the body is. */
  trailers(): HeaderList {
    return this.#trailers()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#receivedBytes += chunk.length
    if (!this.push(chunk)) this.#source.pause()
  }

  readonly #onEnd = (): void => {
    this.#isComplete = true
    this.push(null)
  }

  /** Without its end, a body must never look like a shorter one. */
  readonly #onClose = (): void => {
    if (!this.#isComplete) this.destroy(new Error('the client went away before the end of its request'))
  }

  override _read(): void {
    this.#source.resume()
  }

  /** The rest is thrown away, so that a connection that is kept can come to its next request. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.off('data', this.#onData)
    this.#source.off('end', this.#onEnd)
    this.#source.off('close', this.#onClose)
    this.#source.off('error', this.#onClose)
    if (!this.#isComplete) this.#source.resume()
    callback(error)
  }
}
