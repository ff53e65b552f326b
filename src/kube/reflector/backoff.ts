/**
 * How long to wait after a failure: exponential with full jitter, so that a thousand readers that lost the same server
 * do not return in step. A quiet period without failures starts the series anew.
 */
export const backoffFirstMs = 1_000
export const backoffMaxMs = 30_000
export const backoffResetMs = 120_000
/** A server may ask for more patience than ours, up to this. */
export const maxRetryAfterMs = 300_000

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
    if (nowMs - this.#lastFailureMs >= backoffResetMs) this.#failures = 0
    const ceilingMs = Math.min(backoffMaxMs, backoffFirstMs * 2 ** this.#failures)
    const delayMs = Math.max(this.#random() * ceilingMs, Math.min(retryAfterMs, maxRetryAfterMs))
    this.#failures = Math.min(this.#failures + 1, 16)
    this.#lastFailureMs = nowMs + delayMs
    return delayMs
  }
}
