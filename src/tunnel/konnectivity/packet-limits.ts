/**
 * What a peer may send over a link that moves nothing. A packet too many is an offence that ends the link. Packets for connections
 * that have just ended are under way whenever one ends, so there is room for those of many.
 */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import { MAX_FRUITLESS_OPENS_AT_ONCE, MAX_FRUITLESS_OPENS_PER_SECOND } from '../yamux/limits.ts'
import { PacketError } from './wire.ts'

/** Packets for connections that are not there, empty ones and unknown ones that a peer may send per second, over time. */
const MAX_IDLE_PACKETS_PER_SECOND = 2_000
/** Packets for connections that are not there, empty ones and unknown ones at once: what can be under way on a fast link when many connections end. */
export const MAX_IDLE_PACKETS_AT_ONCE = 20_000

/** The peer keeps us busy with what moves nothing. */
export class PacketFloodError extends PacketError {}

export class PacketLimits {
  readonly #clock: Clock
  readonly #idle: TokenBucket
  readonly #fruitlessDials: TokenBucket
  readonly #flooded: (error: PacketFloodError) => void

  constructor(clock: Clock, flooded: (error: PacketFloodError) => void) {
    const nowMs = clock.monotonicMs()
    this.#clock = clock
    this.#flooded = flooded
    this.#idle = new TokenBucket(MAX_IDLE_PACKETS_PER_SECOND, nowMs, MAX_IDLE_PACKETS_AT_ONCE)
    this.#fruitlessDials = new TokenBucket(MAX_FRUITLESS_OPENS_PER_SECOND, nowMs, MAX_FRUITLESS_OPENS_AT_ONCE)
  }

  /** A packet that moves nothing; false if it was one too many. */
  countIdle(): boolean {
    if (this.#idle.take(this.#clock.monotonicMs())) return true
    this.#flooded(new PacketFloodError('the peer floods the link with packets that move nothing'))
    return false
  }

  /** A dial that the peer gave up, or might have known to lead nowhere; as many as of the streams of a session. */
  countFruitlessDial(): void {
    if (this.#fruitlessDials.take(this.#clock.monotonicMs())) return
    this.#flooded(new PacketFloodError('the peer floods the link with dials that lead nowhere'))
  }
}
