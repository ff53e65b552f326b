/**
 * Bytes that are made when their reader wants them: piece by piece, as fast as they are taken. What makes them is asked for the
 * next piece; where there is none yet, it says so and wakes the source later.
 */
import type { ByteReader, ByteSource } from './byte-source.ts'

/** `wait`: nothing yet, `wake` follows. `end`: that was all. */
export type Pulled = Buffer | 'wait' | 'end'

export interface PulledSourceOptions {
  /** What it throws breaks the body. */
  readonly next: () => Pulled
  /** Called once, when nobody needs anything more. */
  readonly over?: () => void
}

export class PulledSource implements ByteSource {
  readonly #options: PulledSourceOptions
  #reader: ByteReader | undefined
  #isPaused = false
  #isGiving = false
  #isOver = false

  constructor(options: PulledSourceOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#isOver
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    this.wake()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.wake()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.over?.()
  }

  /** There may be more. */
  wake(): void {
    const reader = this.#reader
    if (reader === undefined || this.#isGiving) return
    this.#isGiving = true
    try {
      while (!this.#isPaused && !this.#isOver) if (!this.#give(reader)) break
    } finally {
      this.#isGiving = false
    }
  }

  #give(reader: ByteReader): boolean {
    let pulled: Pulled
    try {
      pulled = this.#options.next()
    } catch (error) {
      this.cancel()
      reader.broken(error as Error)
      return false
    }
    if (pulled === 'wait') return false
    if (pulled !== 'end') {
      reader.data(pulled)
      return true
    }
    this.cancel()
    reader.end()
    return false
  }
}

/** Pieces that are all there to be made. */
export function piecesSource(pieces: Iterable<Buffer>): ByteSource {
  const iterator = pieces[Symbol.iterator]()
  return new PulledSource({
    next: () => {
      const { value, done } = iterator.next()
      return done === true ? 'end' : value
    },
    over: () => void iterator.return?.(),
  })
}
