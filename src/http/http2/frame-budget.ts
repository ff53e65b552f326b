/**
 * How many frames a peer may send that cost us work and move nothing: pings, settings, priorities, resets, empty pieces of
 * bodies. Whoever sends them without end loses the connection.
 */
import { TokenBucket } from '../../runtime/token-bucket.ts'
import { ErrorCode, Http2Error } from './wire.ts'

/** Resets of streams at once: a client that ends all it has open, and some more. */
export const MAX_STREAM_RESETS_AT_ONCE = 500
/** Resets of streams in the long run; each costs the work of a request. */
export const MAX_STREAM_RESETS_PER_SECOND = 25
/** Pings, settings, priorities and empty frames at once: every request of a lively client may come with some. */
export const MAX_IDLE_FRAMES_AT_ONCE = 2_000
/** Pings, settings, priorities and empty frames in the long run. */
export const MAX_IDLE_FRAMES_PER_SECOND = 200

export class FrameBudget {
  readonly #what: string
  readonly #nowMs: () => number
  readonly #frames: TokenBucket

  constructor(what: string, atOnce: number, perSecond: number, nowMs: () => number) {
    this.#what = what
    this.#nowMs = nowMs
    this.#frames = new TokenBucket(perSecond, nowMs(), atOnce)
  }

  /** Throws an `Http2Error` where it was one too many. */
  spend(): void {
    if (!this.#frames.take(this.#nowMs())) throw new Http2Error(ErrorCode.enhanceYourCalm, `too many ${this.#what}`)
  }
}

/** For resets of streams that were under way, by either side for what the other has done: each was a request for nothing. */
export function streamResetBudget(nowMs: () => number): FrameBudget {
  return new FrameBudget('resets', MAX_STREAM_RESETS_AT_ONCE, MAX_STREAM_RESETS_PER_SECOND, nowMs)
}

/**
 * For resets of streams that are over, and without an error: clients of Go send one whenever they are answered before they have sent
 * all of their body. That was our doing, and must not count as a request for nothing.
 */
export function lateResetBudget(nowMs: () => number): FrameBudget {
  return new FrameBudget('late resets', MAX_IDLE_FRAMES_AT_ONCE, MAX_IDLE_FRAMES_PER_SECOND, nowMs)
}
