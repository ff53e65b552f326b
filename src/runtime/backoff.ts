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

export interface BackoffSteps {
  /** No wait is shorter. */
  readonly minMs: number
  /** The longest wait after the first failure; it doubles with every further one. */
  readonly firstMs: number
  readonly maxMs: number
}

export const USUAL_BACKOFF: BackoffSteps = { minMs: 0, firstMs: BACKOFF_FIRST_MS, maxMs: BACKOFF_MAX_MS }
/** What cannot be read stays so until somebody mends it, and each try may cost the server a whole list. */
export const UNREADABLE_BACKOFF: BackoffSteps = { minMs: BACKOFF_MAX_MS, firstMs: 60_000, maxMs: 300_000 }

export class Backoff {
  readonly #random: () => number
  readonly #steps: BackoffSteps
  #failures = 0
  #lastFailureMs = Number.NEGATIVE_INFINITY

  /** `random` draws from [0, 1). */
  constructor(random: () => number, steps = USUAL_BACKOFF) {
    this.#random = random
    this.#steps = steps
  }

  /** The delay in whole milliseconds after a failure at `nowMs`, never shorter than what the server asked for. */
  next(nowMs: number, retryAfterMs = 0): number {
    if (nowMs - this.#lastFailureMs >= BACKOFF_RESET_MS) this.#failures = 0
    const { minMs, firstMs, maxMs } = this.#steps
    const ceilingMs = Math.min(maxMs, firstMs * 2 ** this.#failures)
    const ownMs = Math.round(minMs + this.#random() * (ceilingMs - minMs))
    const delayMs = Math.max(ownMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
    this.#failures = Math.min(this.#failures + 1, 16)
    this.#lastFailureMs = nowMs + delayMs
    return delayMs
  }
}
