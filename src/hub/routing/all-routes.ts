/** The routes of several kinds as one: a node may have a session of ours and a konnectivity agent beside it. */
import type { NodeRoute, NodeRoutes } from './node-route.ts'

export class AllRoutes implements NodeRoutes {
  readonly #kinds: readonly NodeRoutes[]

  /** In order of preference. */
  constructor(kinds: readonly NodeRoutes[]) {
    this.#kinds = kinds
  }

  get all(): readonly NodeRoute[] {
    return this.#kinds.flatMap((routes) => routes.all)
  }

  /** The first that is there to stay; where there is none, one that is going away and may still take a stream. */
  of(node: string): NodeRoute | undefined {
    const found = this.#kinds.map((routes) => routes.of(node)).filter((route) => route !== undefined)
    return found.find(({ isGoingAway }) => !isGoingAway) ?? found[0]
  }
}
