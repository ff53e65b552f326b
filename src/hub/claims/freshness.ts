/**
 * How old the view of the claims may be. A watch that is cut off without a word looks like one on which nothing happens, so
 * silence proves nothing: only an answer of the API server does.
 */
import type { Clock } from '../../runtime/clock.ts'

/** Until this age the view suffices to let a node in; beyond it the record itself is asked for. */
export const CLAIMS_MAX_AGE_MS = 10_000
/** A watch of the claims lasts so long; the answer to the next one is the proof. Two fit into the age that is allowed. */
export const CLAIMS_WATCH_SECONDS = 4
/** An API server that has not begun to answer, or to end a watch, by then counts as cut off. */
export const CLAIMS_ANSWER_TIMEOUT_MS = 5_000
/** For asking the record of one claim while the view is too old: less than an edge waits to be let in. */
export const CLAIM_CHECK_TIMEOUT_MS = 5_000

export class Freshness {
  readonly #clock: Clock
  #provenMs = Number.NEGATIVE_INFINITY
  #failure: unknown

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Infinite before the first proof. */
  get ageMs(): number {
    return this.#clock.monotonicMs() - this.#provenMs
  }

  get isFresh(): boolean {
    return this.ageMs <= CLAIMS_MAX_AGE_MS
  }

  /** What went wrong since the last proof, if anything is known to. */
  get failure(): unknown {
    return this.#failure
  }

  /** The view was complete at that moment of the monotonic clock. */
  proven(atMs: number): void {
    this.#provenMs = Math.max(this.#provenMs, atMs)
    this.#failure = undefined
  }

  failed(error: unknown): void {
    this.#failure = error
  }
}
