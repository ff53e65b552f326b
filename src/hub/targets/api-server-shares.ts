/**
 * What each node may have of the API server, which all of them share: new connections over time, and connections at a time. Each
 * costs the API server a handshake and memory, and it counts those of a hub as one client's.
 */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'

/** New connections of one node to the API server per second, over time; the programs of a node keep theirs, and many go through one. */
export const API_SERVER_DIALS_PER_SECOND_PER_NODE = 100
/** New connections of one node to the API server at once: all that runs on a node comes back after an outage. */
export const API_SERVER_DIALS_BURST_PER_NODE = 500
/** Connections of one node to the API server at a time: some for each of a few hundred pods. */
export const MAX_API_SERVER_CONNECTIONS_PER_NODE = 1_024

export type ApiServerLimit = 'apiserver-dials-per-node' | 'apiserver-connections-per-node'

interface Share {
  readonly dials: TokenBucket
  /** Open, or being made. */
  connections: number
}

/** Nodes come and go: from so many on, those are forgotten that have not asked for a while. */
const minSweptNodes = 1_024

export class ApiServerShares {
  readonly #clock: Clock
  readonly #shares = new Map<string, Share>()
  #sweepAt = minSweptNodes

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** For a new connection: says which limit is reached, or gives what must be called once when it is closed or has failed. */
  take(node: string): ApiServerLimit | (() => void) {
    const share = this.#of(node)
    if (share.connections >= MAX_API_SERVER_CONNECTIONS_PER_NODE) return 'apiserver-connections-per-node'
    if (!share.dials.take(this.#clock.monotonicMs())) return 'apiserver-dials-per-node'
    share.connections += 1
    return () => {
      share.connections -= 1
    }
  }

  #of(node: string): Share {
    let share = this.#shares.get(node)
    if (share === undefined) {
      if (this.#shares.size >= this.#sweepAt) this.#sweep()
      const nowMs = this.#clock.monotonicMs()
      const dials = new TokenBucket(API_SERVER_DIALS_PER_SECOND_PER_NODE, nowMs, API_SERVER_DIALS_BURST_PER_NODE)
      share = { dials, connections: 0 }
      this.#shares.set(node, share)
    }
    return share
  }

  /** One that has nothing and may have everything is as good as new. */
  #sweep(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [node, { connections, dials }] of this.#shares)
      if (connections === 0 && dials.isFull(nowMs)) this.#shares.delete(node)
    this.#sweepAt = Math.max(minSweptNodes, 2 * this.#shares.size)
  }

  /** Nodes that are remembered. */
  get size(): number {
    return this.#shares.size
  }
}
