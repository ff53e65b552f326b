/** What a peer may do per second. A frame too many is an offence that ends its session. */

import { TokenBucket } from '../../runtime/token-bucket.ts'
import { offence } from './errors.ts'
import { IDLE_FRAMES_PER_STREAM, MAX_EARNED_IDLE_FRAMES, type SessionLimits } from './limits.ts'
import { ResetStreams } from './reset-streams.ts'

export class PeerLimits {
  readonly #limits: SessionLimits
  readonly #opens: TokenBucket
  readonly #fruitlessOpens: TokenBucket
  readonly #idleFrames: TokenBucket
  readonly #pings: TokenBucket
  readonly #resetStreams = new ResetStreams()
  #earnedIdleFrames = 0

  constructor(limits: SessionLimits, nowMs: number) {
    this.#limits = limits
    this.#opens = new TokenBucket(limits.maxOpensPerSecond, nowMs)
    const { maxFruitlessOpensPerSecond, maxFruitlessOpensAtOnce } = limits
    this.#fruitlessOpens = new TokenBucket(maxFruitlessOpensPerSecond, nowMs, maxFruitlessOpensAtOnce)
    this.#idleFrames = new TokenBucket(limits.maxIdleFramesPerSecond, nowMs)
    this.#pings = new TokenBucket(limits.maxPingsPerSecond, nowMs)
  }

  countOpen(nowMs: number): void {
    if (this.#opens.take(nowMs)) return
    throw offence('open-flood', `the peer opens more than ${this.#limits.maxOpensPerSecond} streams per second`)
  }

  /** Counts a stream that the peer has opened for nothing; `what` says how. */
  countFruitlessOpen(what: string, nowMs: number): void {
    if (this.#fruitlessOpens.take(nowMs)) return
    const { maxFruitlessOpensPerSecond } = this.#limits
    throw offence(
      'open-flood',
      `the peer opens more than ${maxFruitlessOpensPerSecond} streams per second that ${what}`,
    )
  }

  countPing(nowMs: number): void {
    if (this.#pings.take(nowMs)) return
    throw offence('ping-flood', `the peer sends more than ${this.#limits.maxPingsPerSecond} pings per second`)
  }

  /** A stream began, or was refused: it brings its acknowledgement, and perhaps frames that cross its reset. */
  allowForStream(): void {
    this.#earnedIdleFrames = Math.min(MAX_EARNED_IDLE_FRAMES, this.#earnedIdleFrames + IDLE_FRAMES_PER_STREAM)
  }

  /** A stream was reset here: until the peer knows, it sends on within the window it had. */
  allowForReset(streamId: number, windowBytes: number): void {
    this.#resetStreams.add(streamId, windowBytes)
  }

  /** Counts a frame for a stream that does not exist, with so many bytes of data. */
  countStray(streamId: number, bytes: number, nowMs: number): void {
    if (bytes > 0 && this.#resetStreams.take(streamId, bytes)) return
    this.countIdleFrame('frames for streams that do not exist', nowMs)
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
