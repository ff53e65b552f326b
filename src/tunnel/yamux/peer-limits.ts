/** What a peer may do per second. A frame too many is an offence that ends its session. */

import { TokenBucket } from '../../runtime/token-bucket.ts'
import { offence } from './errors.ts'
import { IDLE_FRAMES_PER_STREAM, MAX_EARNED_IDLE_FRAMES, type SessionLimits } from './limits.ts'

export class PeerLimits {
  readonly #limits: SessionLimits
  readonly #opens: TokenBucket
  readonly #idleFrames: TokenBucket
  readonly #pings: TokenBucket
  #earnedIdleFrames = 0

  constructor(limits: SessionLimits, nowMs: number) {
    this.#limits = limits
    this.#opens = new TokenBucket(limits.maxOpensPerSecond, nowMs)
    this.#idleFrames = new TokenBucket(limits.maxIdleFramesPerSecond, nowMs)
    this.#pings = new TokenBucket(limits.maxPingsPerSecond, nowMs)
  }

  countOpen(nowMs: number): void {
    if (this.#opens.take(nowMs)) return
    throw offence('open-flood', `the peer opens more than ${this.#limits.maxOpensPerSecond} streams per second`)
  }

  countPing(nowMs: number): void {
    if (this.#pings.take(nowMs)) return
    throw offence('ping-flood', `the peer sends more than ${this.#limits.maxPingsPerSecond} pings per second`)
  }

  /** A stream began: it brings its acknowledgement, and perhaps frames that cross its reset. */
  allowForStream(): void {
    this.#earnedIdleFrames = Math.min(MAX_EARNED_IDLE_FRAMES, this.#earnedIdleFrames + IDLE_FRAMES_PER_STREAM)
  }

  /** Counts a frame that moves nothing; `what` says of which kind. */
  countIdleFrame(what: string, nowMs: number): void {
    if (this.#earnedIdleFrames > 0) {
      this.#earnedIdleFrames -= 1
      return
    }
    if (this.#idleFrames.take(nowMs)) return
    throw offence('control-flood', `the peer floods the session with ${what}`)
  }
}
