/**
 * Long work in slices, so that others are served in between. One thread serves everybody: whoever has much to do asks from
 * time to time whether its turn is over, and goes on in the next one.
 */
import type { Clock } from './clock.ts'

/** A fraction of what anybody would notice: several who work at length take their turns one after another. */
export const TURN_MS = 10

/** Resolves when everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export class Turns {
  readonly #clock: Clock
  #startedMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startedMs >= TURN_MS
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#startedMs = this.#clock.monotonicMs()
  }
}
