/**
 * How long to wait after a failure: longer each time, and left to chance in part, so that a thousand that lost the same server do
 * not return in step. A quiet period without failures starts the series anew.
 */

/** Soon enough to be hardly noticed, then seldom enough to leave a struggling server alone. */
export const BACKOFF_FIRST_MS = 1_000
export const BACKOFF_MAX_MS = 30_000
export const BACKOFF_RESET_MS = 120_000
/** A server may ask for more patience than ours, up to this. */
export const MAX_RETRY_AFTER_MS = 300_000
/** Failures in a row that are counted: no series of waits still grows by then. */
const maxFailures = 32

export interface BackoffSteps {
  /** No wait is shorter; nothing, where it is left out. */
  readonly minMs?: number
  /** The step after the first failure; it grows with every further one. */
  readonly firstMs: number
  readonly maxMs: number
  /** By which it grows; 2, where it is left out. */
  readonly factor?: number
  /** Between which shares of the step a wait is drawn: all of it, where it is left out. */
  readonly shares?: readonly [from: number, to: number]
}

const USUAL_BACKOFF: BackoffSteps = { firstMs: BACKOFF_FIRST_MS, maxMs: BACKOFF_MAX_MS }
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
    const delayMs = Math.max(this.#draw(), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
    this.#failures = Math.min(this.#failures + 1, maxFailures)
    this.#lastFailureMs = nowMs + delayMs
    return delayMs
  }

  /** After a success: the next wait is as after a first failure. */
  reset(): void {
    this.#failures = 0
  }

  #draw(): number {
    const { minMs = 0, firstMs, maxMs, factor = 2, shares: [from, to] = [0, 1] } = this.#steps
    const stepMs = Math.min(maxMs, firstMs * factor ** this.#failures)
    const lowMs = Math.max(minMs, stepMs * from)
    return Math.round(lowMs + this.#random() * (stepMs * to - lowMs))
  }
}
