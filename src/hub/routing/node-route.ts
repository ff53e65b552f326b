/** Ways from the hub into the networks of nodes, whatever carries them: a session of our own, or a konnectivity agent. */
import type { Duplex } from 'node:stream'

export interface RouteDialOptions {
  /** `host:port` as the node shall see it. */
  readonly address: string
  readonly deadlineMs: number
  /** On whose behalf, for logs. */
  readonly source?: string
  readonly signal?: AbortSignal
}

export interface NodeRoute {
  /** The node whose certificate, or reviewed token, opened it. */
  readonly node: string
  readonly kind: 'session' | 'konnectivity'
  readonly sinceMs: number
  /** Absent until measured, and for agents, which have no pings of ours. */
  readonly rttMs: number | undefined
  readonly streamCount: number
  /** For lists: the carrier and the far end. */
  readonly description: string
  /** No new streams; it ends once those it has are done. */
  readonly isGoingAway: boolean
  /** Resolves once the far end has connected; rejects with an `OpenError`. No byte of the far end is seen before. */
  dial(options: RouteDialOptions): Promise<Duplex>
}

/** The live routes of one cluster. */
export interface NodeRoutes {
  readonly all: readonly NodeRoute[]
  /** The best one into that node: not going away, the newest. */
  of(node: string): NodeRoute | undefined
}
