/**
 * Bytes that are made when their reader wants them: piece by piece, as fast as they are taken. What makes them is asked for the
 * next piece; where there is none yet, it says so and wakes the source later. However much there is to make, and however many
 * make something, they share the turns of the event loop.
 */

import type { Clock } from '../../runtime/clock.ts'
import { turnFor } from '../../runtime/turns.ts'
import type { ByteReader, ByteSource } from './byte-source.ts'

/** `wait`: nothing yet, `wake` follows. `later`: nothing yet, and there is more to do for it. `end`: that was all. */
export type Pulled = Buffer | 'wait' | 'later' | 'end'

export interface PulledSourceOptions {
  /** One step of the work, a few milliseconds at most. What it throws breaks the body. */
  readonly next: () => Pulled
  /** Called once, when nobody needs anything more. */
  readonly over?: () => void
  /** Whose turns the work takes; left out where there is hardly any. */
  readonly clock?: Clock
}

export class PulledSource implements ByteSource {
  readonly #options: PulledSourceOptions
  #reader: ByteReader | undefined
  #isPaused = false
  #isGiving = false
  /** Others have their turn; it goes on by itself. */
  #isInLine = false
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
    if (this.#reader !== undefined && !this.#isInLine) this.#work(this.#reader, false)
  }

  /** `hasTurn`: it has waited for this one, and does one step at least. */
  #work(reader: ByteReader, hasTurn: boolean): void {
    if (this.#isGiving) return
    this.#isGiving = true
    try {
      for (let isFirst = hasTurn; !this.#isPaused && !this.#isOver; isFirst = false) {
        if (!isFirst && this.#isTurnOver(reader)) break
        if (!this.#give(reader)) break
      }
    } finally {
      this.#isGiving = false
    }
  }

  #isTurnOver(reader: ByteReader): boolean {
    const { clock } = this.#options
    const turn = clock && turnFor(clock)
    if (turn === undefined) return false
    this.#isInLine = true
    const goOn = (): void => {
      this.#isInLine = false
      this.#work(reader, true)
    }
    turn.then(goOn).catch((error: unknown) => this.#break(reader, error))
    return true
  }

  #give(reader: ByteReader): boolean {
    let pulled: Pulled
    try {
      pulled = this.#options.next()
    } catch (error) {
      this.#break(reader, error)
      return false
    }
    if (pulled === 'wait') return false
    if (pulled === 'later') return true
    if (pulled !== 'end') {
      reader.data(pulled)
      return true
    }
    this.cancel()
    reader.end()
    return false
  }

  #break(reader: ByteReader, error: unknown): void {
    this.cancel()
    reader.broken(error as Error)
  }
}

/** Pieces that are all there to be made; undefined where the next one takes another step. */
export function piecesSource(pieces: Iterable<Buffer | undefined>, clock: Clock): ByteSource {
  const iterator = pieces[Symbol.iterator]()
  return new PulledSource({
    next: () => {
      const { value, done } = iterator.next()
      return done === true ? 'end' : (value ?? 'later')
    },
    over: () => void iterator.return?.(),
    clock,
  })
}
