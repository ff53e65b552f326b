/**
 * A request body on its way to somebody else, and how far it has come. Whoever gives it up leaves the rest to flow away, because
 * its connection still has an answer to carry.
 */
import type { Guard } from '../../process/safety-net.ts'
import type { HeaderList } from '../server/exchange.ts'
import type { ByteReader, ByteSource } from './byte-source.ts'

export class RequestBody implements ByteSource {
  readonly #source: ByteSource
  readonly #trailers: () => HeaderList
  readonly #guard: Guard
  #reader: ByteReader | undefined
  #receivedBytes = 0
  #isWanted = false
  #isOver = false

  /** What a reader throws is the guard's: the connection that calls it carries others, too. */
  constructor(source: ByteSource, trailers: () => HeaderList, guard: Guard) {
    this.#source = source
    this.#trailers = trailers
    this.#guard = guard
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Whether its reader waits for the client, and not the client for its reader. */
  get isWanted(): boolean {
    return this.#isWanted
  }

  /** Nothing more comes of it: it is complete, or broke, or was given up. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Complete when the body is. */
  trailers(): HeaderList {
    return this.#trailers()
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    this.#isWanted = true
    this.#source.read({
      data: (piece) => {
        this.#receivedBytes += piece.length
        this.#guard(() => this.#reader?.data(piece))
      },
      end: () => this.#guard(() => this.#finish()?.end()),
      broken: (fault) => this.#guard(() => this.#finish()?.broken(fault)),
    })
  }

  pause(): void {
    if (this.#isOver) return
    this.#isWanted = false
    this.#source.pause()
  }

  resume(): void {
    if (this.#isOver) return
    this.#isWanted = true
    this.#source.resume()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#finish()
    this.#source.cancel()
  }

  /** Gives it up for its reader, who takes it for broken. */
  cut(fault: Error): void {
    const reader = this.#reader
    if (this.#isOver) return
    this.cancel()
    this.#guard(() => reader?.broken(fault))
  }

  #finish(): ByteReader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#isOver = true
    return reader
  }
}
