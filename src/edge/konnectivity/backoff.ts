/** How long to wait before the next attempt: as stock agents do, so that a server meets nothing new. */

/** Between attempts that worked, and after the first that did not. */
export const SYNC_INTERVAL_MS = 1_000
/** Never longer than this, so that a server that comes back is found soon. */
export const SYNC_INTERVAL_CAP_MS = 10_000
const factor = 1.5
/** A share added at random, so that the agents of a site do not come all at once. */
const jitter = 0.1

export class Backoff {
  readonly #initialMs: number
  readonly #capMs: number
  readonly #random: () => number
  #delayMs: number

  constructor(initialMs = SYNC_INTERVAL_MS, capMs = SYNC_INTERVAL_CAP_MS, random: () => number = Math.random) {
    this.#initialMs = initialMs
    this.#capMs = capMs
    this.#random = random
    this.#delayMs = initialMs
  }

  /** After an attempt that worked. */
  reset(): number {
    this.#delayMs = this.#initialMs
    return this.#jittered(this.#initialMs)
  }

  /** After one that did not. */
  next(): number {
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(this.#delayMs * factor, this.#capMs)
    return this.#jittered(delayMs)
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + jitter * this.#random())
  }
}
