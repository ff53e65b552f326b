/**
 * Opens connections from the cloud into the networks of nodes: chooses who may carry one, and tries the live routes of those.
 * A failure leads to another route only where it says that nobody has dialled: what a destination answered is final.
 */

import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { OpenError, openErrorFrom } from '../../tunnel/open-error.ts'
import type { RefusalCode } from '../../tunnel/prelude/answer.ts'
import { type Destination, type DestinationHost, formatDestination, parseHost } from './destination.ts'
import { KnownAnswers } from './known-answers.ts'
import type { RouteMetrics, RouteOutcome } from './metrics.ts'
import type { NodeRoute, NodeRoutes, RouteDialOptions } from './node-route.ts'
import type { NodeSelection, RouteChoice } from './route-table.ts'

/** Routes that may fail for one connection, over sessions of one node or over edges, not counting denials. */
export const MAX_ROUTE_ATTEMPTS = 8
/** Edges that may deny one connection before it is given up; a denial costs one round trip and nothing at the edge. */
export const MAX_DENIALS_PER_DIAL = 64

export interface RouteDialerOptions {
  readonly table: { choose(host: DestinationHost): RouteChoice }
  readonly routes: NodeRoutes
  readonly metrics: RouteMetrics
  readonly clock: Clock
  /** In [0, 1). */
  readonly random?: () => number
}

/** `deadlineMs` holds for all attempts together. */
export type DialOptions = Omit<RouteDialOptions, 'address'>

export interface DialedRoute {
  /** Connected; nothing has been read from it. */
  readonly stream: Duplex
  readonly node: string
}

/** The session is gone or full; the edge has not dialled. */
const notAsked: ReadonlySet<RefusalCode> = new Set(['no-route', 'overloaded'])
/** The node was not asked, or would not have the connection. */
const notAdmitted: ReadonlySet<RefusalCode> = new Set([...notAsked, 'denied'])

interface Plan {
  readonly routes: Iterable<NodeRoute>
  readonly tryNext: ReadonlySet<RefusalCode>
  readonly outcome: RouteOutcome
  /** What is wrong if there are no routes at all. */
  readonly noRoute: string
  /** What else whoever is told of a failure should know. */
  readonly note?: string
}

export class RouteDialer {
  readonly #options: RouteDialerOptions
  readonly #random: () => number
  readonly #known: KnownAnswers

  constructor(options: RouteDialerOptions) {
    this.#options = options
    this.#random = options.random ?? systemRandom.fraction
    this.#known = new KnownAnswers(options.clock)
  }

  /** Resolves once the far end has connected; rejects with an `OpenError`. */
  async dial(hostText: string, port: number, options: DialOptions): Promise<DialedRoute> {
    const host = parseHost(hostText)
    if (host === undefined) throw new OpenError('invalid', `${JSON.stringify(hostText)} is not a host`)
    const destination = { host, port }
    const plan = this.#plan(destination)
    return await this.#try(plan, { ...options, address: formatDestination(destination) })
  }

  #plan(destination: Destination): Plan {
    const { host } = destination
    const { table, routes, metrics } = this.#options
    // A node that has proven its name, even before it is registered.
    const isLiveNode = host.kind === 'name' && routes.of(host.text) !== undefined
    const choice: RouteChoice = isLiveNode ? { kind: 'node', node: host.text } : table.choose(host)
    if (choice.kind === 'none') {
      metrics.choices.inc({ outcome: choice.reason })
      throw new OpenError('no-route', choice.message)
    }
    if (choice.kind === 'node') return this.#planFor(choice.node)
    const address = formatDestination(destination)
    const candidates = this.#candidates(choice.tiers, address)
    const whose = host.kind === 'name' ? `no Node is called ${host.text}` : `${host.text} belongs to no node`
    const noRoute = `${whose}, and no edge that may serve such destinations is connected`
    return { routes: candidates, tryNext: notAdmitted, outcome: 'default', noRoute, note: whose }
  }

  #planFor(node: string): Plan {
    const noRoute = `node ${node} is not connected to this hub`
    return { routes: routesInto(node, this.#options.routes), tryNext: notAsked, outcome: 'node', noRoute }
  }

  async #try(plan: Plan, options: RouteDialOptions): Promise<DialedRoute> {
    const { clock } = this.#options
    const endMs = clock.monotonicMs() + options.deadlineMs
    let failure: OpenError | undefined
    let attempts = 0
    let denials = 0
    for (const route of plan.routes) {
      const deadlineMs = Math.ceil(endMs - clock.monotonicMs())
      if (attempts - denials === MAX_ROUTE_ATTEMPTS || denials === MAX_DENIALS_PER_DIAL) break
      if (deadlineMs <= 0 || options.signal?.aborted === true) break
      attempts += 1
      try {
        const stream = await route.dial({ ...options, deadlineMs })
        this.#count(plan, attempts)
        if (plan.outcome === 'default') this.#known.admitted(options.address, route.node)
        return { stream, node: route.node }
      } catch (error) {
        failure = openErrorFrom(error)
        if (!plan.tryNext.has(failure.code)) break
        if (failure.code !== 'denied') continue
        denials += 1
        this.#known.denied(options.address, route.node)
      }
    }
    this.#count(plan, attempts)
    throw failureOf(plan, failure, attempts)
  }

  #count({ outcome }: Plan, attempts: number): void {
    this.#options.metrics.choices.inc({ outcome: attempts === 0 ? 'offline' : outcome })
  }

  /** The nodes of the first selection that has any, each by its best route, looked up when it is its turn. */
  *#candidates(tiers: readonly NodeSelection[], address: string): Generator<NodeRoute, void, undefined> {
    for (const tier of tiers) {
      let hasAny = false
      for (const node of this.#inOrder(tier, address)) {
        const route = bestRoute(node, this.#options.routes)
        if (route === undefined) continue
        hasAny = true
        yield route
      }
      if (hasAny) return
    }
  }

  /** Who admitted the destination before, then the others at random, and at last those who have denied it lately. */
  *#inOrder(tier: NodeSelection, address: string): Generator<string, void, undefined> {
    const known = this.#known
    const nodes = new Set(this.#options.routes.all.map(({ node }) => node).filter((node) => tier.has(node)))
    const first = known.admittedBy(address)
    if (first !== undefined && nodes.delete(first)) yield first
    const isDenied = (node: string): boolean => known.isDenied(address, node)
    // Sorted out before anybody is asked: who denies it now is not asked again at the end.
    const [others, deniers] = [[...nodes].filter((node) => !isDenied(node)), [...nodes].filter(isDenied)]
    yield* this.#shuffled(others)
    yield* this.#shuffled(deniers)
  }

  *#shuffled(pool: string[]): Generator<string, void, undefined> {
    while (pool.length > 0) {
      const index = Math.floor(this.#random() * pool.length)
      const drawn = pool[index]
      // Order does not matter in the pool, so that taking one out is cheap.
      const last = pool.pop()
      if (last !== undefined && index < pool.length) pool[index] = last
      if (drawn !== undefined) yield drawn
    }
  }
}

function failureOf({ noRoute, note, tryNext }: Plan, failure: OpenError | undefined, attempts: number): OpenError {
  if (failure === undefined) return new OpenError('no-route', noRoute)
  // Where the destination itself has answered it does not matter whose it is.
  const notes = [
    note !== undefined && tryNext.has(failure.code) ? note : '',
    attempts > 1 ? `${attempts} routes tried` : '',
  ]
  const told = notes.filter((text) => text !== '').join('; ')
  return told === '' ? failure : new OpenError(failure.code, `${failure.message} (${told})`)
}

/** The best first. What is behind a route is not looked up before the one ahead of it has failed. */
function* routesInto(node: string, routes: NodeRoutes): Generator<NodeRoute, void, undefined> {
  const best = bestRoute(node, routes)
  if (best === undefined) return
  yield best
  const others = routes.all.filter((route) => route.node === node && route !== best && !route.isGoingAway)
  yield* others.sort((a, b) => b.sinceMs - a.sinceMs)
}

/** A konnectivity agent that drains still serves where nobody else does; a session of ours that does takes no more streams. */
function bestRoute(node: string, routes: NodeRoutes): NodeRoute | undefined {
  return routes.of(node) ?? routes.all.find((route) => route.node === node && route.kind === 'konnectivity')
}
