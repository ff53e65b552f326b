/** The sessions of one node, oldest first, and what the node may have in all of them together. */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import type { StreamOwner } from '../targets/stream-server.ts'
import type { EdgeSession } from './edge-session.ts'
import type { SessionMetrics } from './metrics.ts'
import { type NodeLimits, SESSION_DRAIN_MS } from './session-limits.ts'

export class NodeSessions implements StreamOwner {
  readonly node: string
  readonly #clock: Clock
  readonly #limits: NodeLimits
  readonly #metrics: SessionMetrics
  readonly #opens: TokenBucket
  readonly #sessions = new Set<EdgeSession>()

  constructor(node: string, clock: Clock, limits: NodeLimits, metrics: SessionMetrics) {
    this.node = node
    this.#clock = clock
    this.#limits = limits
    this.#metrics = metrics
    this.#opens = new TokenBucket(limits.maxOpensPerSecondPerNode, clock.monotonicMs())
  }

  get sessions(): readonly EdgeSession[] {
    return [...this.#sessions]
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0
  }

  /** The newest that takes new streams. */
  get best(): EdgeSession | undefined {
    let newest: EdgeSession | undefined
    for (const session of this.#sessions) if (!session.isGoingAway) newest = session
    return newest
  }

  /** The newest are kept: an edge that comes again has a reason to, such as a link that died without a word. */
  add(session: EdgeSession): void {
    this.#sessions.add(session)
    const { maxSessionsPerNode, maxDrainingSessionsPerNode } = this.#limits
    const taking = this.sessions.filter(({ isGoingAway }) => !isGoingAway)
    for (const oldest of taking.slice(0, Math.max(0, taking.length - maxSessionsPerNode))) {
      this.#metrics.crossed('sessions-per-node')
      oldest.drain('sessions-per-node', SESSION_DRAIN_MS)
    }
    const draining = this.sessions.filter(({ isGoingAway }) => isGoingAway)
    for (const oldest of draining.slice(0, Math.max(0, draining.length - maxDrainingSessionsPerNode))) {
      this.#metrics.crossed('draining-per-node')
      oldest.end('draining-per-node')
    }
  }

  remove(session: EdgeSession): void {
    this.#sessions.delete(session)
  }

  countOpen(): string | undefined {
    if (!this.#opens.take(this.#clock.monotonicMs())) {
      this.#metrics.crossed('opens-per-node')
      return `node ${this.node} opens more than ${this.#limits.maxOpensPerSecondPerNode} streams per second`
    }
    // The stream that is asked for is there already.
    return this.overload(this.#limits.maxStreamsPerNode + 1)
  }

  /** What speaks against one more stream, if there are `max` already. */
  overload(max = this.#limits.maxStreamsPerNode): string | undefined {
    let streams = 0
    for (const session of this.#sessions) streams += session.streamCount
    if (streams < max) return undefined
    this.#metrics.crossed('streams-per-node')
    return `node ${this.node} has as many streams open as it may: ${this.#limits.maxStreamsPerNode}`
  }
}
