/**
 * Lets no session keep the event loop from the others. Bytes that were received are handled at once, until that has taken its
 * share of a turn; the rest waits, in order, for the following ones, and the carrier is not read from while it does.
 */
import type { Clock } from '../runtime/clock.ts'
import { Turns } from '../runtime/turns.ts'
import type { Carrier } from './carrier.ts'

/** What one session may take of a turn with the bytes it receives: megabytes of data, or some hundreds of new streams. */
export const MAX_RECEIVE_TURN_MS = 5
/** Bytes that are handled before the time is looked at again. */
export const RECEIVE_SLICE_BYTES = 16 * 1024

export class ReceiveTurns {
  readonly #clock: Clock
  readonly #carrier: Pick<Carrier, 'pause' | 'resume'>
  readonly #receive: (chunk: Uint8Array) => void
  /** In order; not empty only while the carrier is paused. */
  readonly #waiting: Uint8Array[] = []
  #isWaiting = false
  #spentMs = 0
  #isCounting = false
  readonly #beginTurn = (): void => {
    this.#isCounting = false
    this.#spentMs = 0
  }

  /** `receive` must not throw. */
  constructor(clock: Clock, carrier: Pick<Carrier, 'pause' | 'resume'>, receive: (chunk: Uint8Array) => void) {
    this.#clock = clock
    this.#carrier = carrier
    this.#receive = receive
  }

  take(chunk: Uint8Array): void {
    if (this.#isWaiting) {
      this.#waiting.push(chunk)
      return
    }
    const rest = this.#handle(chunk)
    if (rest !== undefined) this.#wait(rest)
  }

  /** What is left of it when the time is up; `undefined` if all was handled in time. */
  #handle(chunk: Uint8Array): Uint8Array | undefined {
    this.#count()
    for (let offset = 0; offset < chunk.length; offset += RECEIVE_SLICE_BYTES) {
      if (this.#spentMs >= MAX_RECEIVE_TURN_MS) return chunk.subarray(offset)
      const startedMs = this.#clock.monotonicMs()
      this.#receive(chunk.length <= RECEIVE_SLICE_BYTES ? chunk : chunk.subarray(offset, offset + RECEIVE_SLICE_BYTES))
      this.#spentMs += this.#clock.monotonicMs() - startedMs
    }
    return undefined
  }

  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(this.#beginTurn)
  }

  #wait(rest: Uint8Array): void {
    this.#isWaiting = true
    this.#waiting.push(rest)
    this.#carrier.pause()
    void this.#goOn()
  }

  async #goOn(): Promise<void> {
    const turns = new Turns(this.#clock)
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      await turns.next()
      this.#beginTurn()
      const rest = this.#handle(chunk)
      if (rest !== undefined) this.#waiting.unshift(rest)
    }
    this.#isWaiting = false
    this.#carrier.resume()
  }
}
