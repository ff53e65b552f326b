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

/** The routes of several kinds as one: a node may have a session of ours and a konnectivity agent beside it. */
export class AllRoutes implements NodeRoutes {
  readonly #kinds: readonly NodeRoutes[]

  /** In order of preference. */
  constructor(kinds: readonly NodeRoutes[]) {
    this.#kinds = kinds
  }

  get all(): readonly NodeRoute[] {
    return this.#kinds.flatMap((routes) => routes.all)
  }

  /** The first route into the node that is there to stay; where there is none, one that is going away and may still take a stream. */
  of(node: string): NodeRoute | undefined {
    const found = this.#kinds.map((routes) => routes.of(node)).filter((route) => route !== undefined)
    return found.find(({ isGoingAway }) => !isGoingAway) ?? found[0]
  }
}
