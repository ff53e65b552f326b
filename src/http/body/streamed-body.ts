/**
 * A request body on its way to somebody else. It stands between the connection and its reader, because a reader that gives
 * up destroys what it reads, and the connection still has an answer to carry.
 */
import { Readable } from 'node:stream'
import type { Guard } from '../../process/safety-net.ts'
import { guardEmitter } from '../../runtime/guarded-emitter.ts'
import type { HeaderList } from '../server/exchange.ts'
import type { ByteSource } from './byte-source.ts'

/** What waits between the client and a slow reader, besides what the connection itself holds. */
const bufferBytes = 64 * 1024

export class RequestBody extends Readable {
  readonly #source: ByteSource
  readonly #trailers: () => HeaderList
  #receivedBytes = 0
  #isComplete = false

  constructor(source: ByteSource, trailers: () => HeaderList, guard: Guard) {
    super({ highWaterMark: bufferBytes })
    guardEmitter(this, (error) =>
      guard(() => {
        throw error
      }),
    )
    this.#source = source
    this.#trailers = trailers
    source.read({
      data: (piece) => this.#take(piece),
      end: () => {
        this.#isComplete = true
        this.push(null)
      },
      broken: (fault) => void this.destroy(fault),
    })
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

  #take(piece: Buffer): void {
    this.#receivedBytes += piece.length
    if (!this.push(piece)) this.#source.pause()
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isComplete) this.#source.cancel()
    callback(error)
  }
}
