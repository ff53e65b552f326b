/**
 * How long to wait after a failure: exponential with full jitter, so that a thousand readers that lost the same server
 * do not return in step. A quiet period without failures starts the series anew.
 */

/** Soon enough to be hardly noticed, then seldom enough to leave a struggling server alone. */
export const BACKOFF_FIRST_MS = 1_000
export const BACKOFF_MAX_MS = 30_000
export const BACKOFF_RESET_MS = 120_000
/** A server may ask for more patience than ours, up to this. */
export const MAX_RETRY_AFTER_MS = 300_000

export class Backoff {
  readonly #random: () => number
  #failures = 0
  #lastFailureMs = Number.NEGATIVE_INFINITY

  /** `random` draws from [0, 1). */
  constructor(random: () => number) {
    this.#random = random
  }

  /** The delay after a failure at `nowMs`, never shorter than what the server asked for. */
  next(nowMs: number, retryAfterMs = 0): number {
    if (nowMs - this.#lastFailureMs >= BACKOFF_RESET_MS) this.#failures = 0
    const ceilingMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** this.#failures)
    const delayMs = Math.max(this.#random() * ceilingMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
    this.#failures = Math.min(this.#failures + 1, 16)
    this.#lastFailureMs = nowMs + delayMs
    return delayMs
  }
}
