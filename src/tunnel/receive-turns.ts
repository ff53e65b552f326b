/**
 * Lets no session keep the event loop from the others. Bytes that were received are handled at once, until that has taken its
 * share of a turn; the rest waits, in order, for the following ones, and the carrier is not read from while it does.
 */
import type { Clock } from '../runtime/clock.ts'
import { Turns } from '../runtime/turns.ts'
import type { Carrier } from './carrier.ts'

/** What one session may take of a turn with the bytes it receives: megabytes of data, or a hundred new streams. */
export const MAX_RECEIVE_TURN_MS = 5
/**
 * Handles bytes. Every few frames it asks whether its time is up, and then returns what it has
 * left to do; it is called again with that. Must not throw.
 */
export type Receive = (chunk: Uint8Array, isTimeUp: () => boolean) => Uint8Array | undefined

export class ReceiveTurns {
  readonly #clock: Clock
  readonly #carrier: Pick<Carrier, 'pause' | 'resume'>
  readonly #receive: Receive
  /** In order; not empty only while the carrier is paused. */
  readonly #waiting: Uint8Array[] = []
  #isWaiting = false
  #startedMs = 0
  #spentMs = 0
  #isCounting = false
  readonly #beginTurn = (): void => {
    this.#isCounting = false
    this.#spentMs = 0
  }
  readonly #isTimeUp = (): boolean => this.#spentMs + this.#clock.monotonicMs() - this.#startedMs >= MAX_RECEIVE_TURN_MS

  constructor(clock: Clock, carrier: Pick<Carrier, 'pause' | 'resume'>, receive: Receive) {
    this.#clock = clock
    this.#carrier = carrier
    this.#receive = receive
  }

  take(chunk: Uint8Array): void {
    if (this.#isWaiting) {
      this.#waiting.push(chunk)
      return
    }
    const rest = this.#spentMs >= MAX_RECEIVE_TURN_MS ? chunk : this.#handle(chunk)
    if (rest !== undefined) this.#wait(rest)
  }

  /** What is left of it when the time is up; `undefined` if all was handled in time. */
  #handle(chunk: Uint8Array): Uint8Array | undefined {
    if (!this.#isCounting) {
      this.#isCounting = true
      setImmediate(this.#beginTurn)
    }
    this.#startedMs = this.#clock.monotonicMs()
    const rest = this.#receive(chunk, this.#isTimeUp)
    this.#spentMs += this.#clock.monotonicMs() - this.#startedMs
    return rest
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
      this.#spentMs = 0
      const rest = this.#handle(chunk)
      if (rest !== undefined) this.#waiting.unshift(rest)
    }
    this.#isWaiting = false
    this.#carrier.resume()
  }
}
