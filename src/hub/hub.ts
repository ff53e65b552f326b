/** The hub as one part of a process. */

import { checkCanListen, formatAddress, type ListenAddress } from '../network/listen.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import { startInOrder } from '../process/part-group.ts'
import { type Health, unhealthy } from '../telemetry/health.ts'
import type { Claim } from './claims/claim.ts'
import type { ClusterStatus } from './cluster-watchdog.ts'
import { type ComposedHub, composeHub, type HubOptions } from './compose.ts'
import type { NodeRoute } from './routing/node-route.ts'

export class Hub implements Part {
  readonly name = 'hub'
  readonly #options: HubOptions
  #composed: ComposedHub | undefined

  constructor(options: HubOptions) {
    this.#options = options
  }

  /** `https://host:port`, with an address of this machine where the hub listens on all. */
  get url(): string {
    const { host, port } = this.#running.listener.boundAddress
    const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    return `https://${formatAddress({ host: reachable, port })}`
  }

  /** The names of nodes and who holds them, as this hub knows them. */
  get claims(): readonly Claim[] {
    return this.#running.clusters.flatMap(({ cluster }) => cluster.claims.allKnown)
  }

  /** The ways into nodes that are open now. */
  get routes(): readonly NodeRoute[] {
    return this.#running.clusters.flatMap(({ network }) => network.routes.all)
  }

  /** Whether each cluster behind the hub answers it. */
  get clusters(): readonly ClusterStatus[] {
    return this.#running.clusters.map(({ watchdog }) => watchdog.status)
  }

  /** A hub that cannot ask a cluster lets none of its nodes in. */
  clusterHealth(name: string): Health {
    const composed = this.#composed?.clusters.find(({ cluster }) => cluster.name === name)
    return composed?.watchdog.health() ?? unhealthy('not started')
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    // Putting the hub together writes into the cluster; one that cannot serve must not get so far.
    for (const address of portsOf(this.#options)) await checkCanListen(address)
    const composed = await composeHub(this.#options)
    const running = await startInOrder(composed.parts, signal, fail)
    this.#composed = composed
    return running
  }

  get #running(): ComposedHub {
    if (this.#composed === undefined) throw new Error('the hub has not been started')
    return this.#composed
  }
}

function portsOf({ listen, joinListen, clusters }: HubOptions): readonly ListenAddress[] {
  const fronts = clusters.flatMap(({ connectFronts, grpcFronts }) => [...connectFronts, ...grpcFronts])
  const frontPorts = fronts.flatMap((front) => (front.kind === 'tcp' ? [front.listen] : []))
  return [listen, ...(joinListen === undefined ? [] : [joinListen]), ...frontPorts]
}
