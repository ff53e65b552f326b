/**
 * Which connection of a pool carries the next request, when another is opened and which have had their time. Knows nothing of
 * sockets: connections are numbers here, and every decision is a function of what was told before.
 */

/**
 * Streams in use on one connection. API servers take 100 by default, and clients of one count on it, so that the next
 * connection has to be there before.
 */
export const MAX_STREAMS_PER_UPSTREAM = 90
/** Free streams below which another connection is opened ahead of need: a burst must not wait for a handshake. */
export const SPARE_STREAMS = 20
/** Connections of one pool that take requests: streams for 2,880 watches, far above what the pods of a node hold. */
export const MAX_POOL_CONNECTIONS = 32
/**
 * Connections of one pool that only let their streams end: a long watch after each GOAWAY must not pile up without end.
 * Beyond, the oldest is ended, and whoever watches there comes again.
 */
const MAX_DRAINING_CONNECTIONS = 64
/** Below the 90 s after which a kube-apiserver ends an idle connection, so that no request meets that end. */
export const IDLE_UPSTREAM_MS = 60_000

export interface PoolLimits {
  readonly maxStreams: number
  readonly spareStreams: number
  readonly maxConnections: number
  readonly maxDraining: number
  readonly idleMs: number
}

const defaultLimits: PoolLimits = {
  maxStreams: MAX_STREAMS_PER_UPSTREAM,
  spareStreams: SPARE_STREAMS,
  maxConnections: MAX_POOL_CONNECTIONS,
  maxDraining: MAX_DRAINING_CONNECTIONS,
  idleMs: IDLE_UPSTREAM_MS,
}

interface Member {
  state: 'opening' | 'open' | 'draining'
  streams: number
  /** What both sides allow. */
  capacity: number
  idleSinceMs: number
}

export class PoolCore {
  readonly #limits: PoolLimits
  /** In the order of their opening. */
  readonly #members = new Map<number, Member>()
  #lastId = 0
  /** What the peer took last: the next connection keeps to it before it is told. */
  #peerTakes = Number.POSITIVE_INFINITY

  constructor(limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
  }

  /** Connections that are open, those that drain included. */
  get connections(): number {
    return this.#members.size - this.openings
  }

  get openings(): number {
    return this.#count('opening')
  }

  /** Whether a stream may come free without another connection. */
  get hasHope(): boolean {
    return this.#count('draining') < this.#members.size
  }

  get streams(): number {
    let total = 0
    for (const { streams } of this.#members.values()) total += streams
    return total
  }

  /** Takes a stream on the oldest connection that has one, so that what a burst has opened falls idle again. */
  place(): number | undefined {
    for (const [id, member] of this.#members) {
      if (member.state !== 'open' || member.streams >= member.capacity) continue
      member.streams += 1
      return id
    }
    return undefined
  }

  /** How many connections to open now, for those that wait and a few more. */
  wanted(waiting: number): number {
    const { maxStreams, spareStreams, maxConnections } = this.#limits
    let used = 0
    let free = 0
    let usable = 0
    let capacity = maxStreams
    for (const member of this.#members.values()) {
      if (member.state === 'draining') continue
      usable += 1
      used += member.streams
      free += Math.max(0, member.capacity - member.streams)
      capacity = Math.max(1, Math.min(capacity, member.capacity))
    }
    if (waiting === 0 && used === 0) return 0
    const spare = Math.max(1, Math.min(spareStreams, Math.floor((capacity * spareStreams) / maxStreams)))
    const missing = Math.ceil((waiting + spare - free) / capacity)
    return Math.max(0, Math.min(missing, maxConnections - usable))
  }

  /** A connection is being opened. */
  opening(): number {
    this.#lastId += 1
    const capacity = Math.min(this.#limits.maxStreams, this.#peerTakes)
    this.#members.set(this.#lastId, { state: 'opening', streams: 0, capacity, idleSinceMs: 0 })
    return this.#lastId
  }

  opened(id: number, nowMs: number): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    member.idleSinceMs = nowMs
    if (member.state === 'opening') member.state = 'open'
  }

  /** How many streams the peer takes at a time; it may say so again and again. */
  peerTakes(id: number, streams: number): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    this.#peerTakes = streams
    member.capacity = Math.min(this.#limits.maxStreams, streams)
  }

  /** A stream of the connection is over. True where that was the last of a connection that drains: it can go. */
  finished(id: number, nowMs: number): boolean {
    const member = this.#members.get(id)
    if (member === undefined) return false
    member.streams -= 1
    member.idleSinceMs = nowMs
    return member.state === 'draining' && member.streams === 0
  }

  /** The connection takes no more streams. */
  drain(id: number): void {
    const member = this.#members.get(id)
    if (member !== undefined) member.state = 'draining'
  }

  /** The connections that there are take no more streams: what comes needs new ones. */
  drainAll(): void {
    for (const member of this.#members.values()) member.state = 'draining'
  }

  /** The connection is gone, or did not come about. */
  closed(id: number): void {
    this.#members.delete(id)
  }

  /** Connections to end now: drained, idle for long, or the oldest of too many that drain. */
  expired(nowMs: number): readonly number[] {
    let excess = -this.#limits.maxDraining
    for (const { state, streams } of this.#members.values()) if (state === 'draining' && streams > 0) excess += 1
    const isExpired = ({ state, streams, idleSinceMs }: Member): boolean => {
      if (state === 'opening') return false
      if (streams === 0) return state === 'draining' || nowMs - idleSinceMs >= this.#limits.idleMs
      if (state !== 'draining' || excess <= 0) return false
      excess -= 1
      return true
    }
    return [...this.#members].filter(([, member]) => isExpired(member)).map(([id]) => id)
  }

  #count(state: Member['state']): number {
    let count = 0
    for (const member of this.#members.values()) if (member.state === state) count += 1
    return count
  }
}
