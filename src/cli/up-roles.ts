/**
 * The roles of `causeway up` that need another one to be running before they can be made: the hub works in the cluster that
 * the API server has just opened, and an edge joins with a token of that cluster.
 */
import { join } from 'node:path'
import type { EdgeNetworkSettings } from '../edge/compose.ts'
import type { ReplicaSettings } from '../edge/compose-replica.ts'
import { Edge, type EdgeOptions, type EdgeStatus } from '../edge/edge.ts'
import type { FeedSummary } from '../edge/replica/replica-status.ts'
import { TokenAdministration } from '../hub/cluster/token-administration.ts'
import type { HubOptions } from '../hub/compose.ts'
import { Hub } from '../hub/hub.ts'
import { KubeClient } from '../kube/client/client.ts'
import { loadKubeconfig } from '../kube/client/kubeconfig.ts'
import { Cable } from '../network/cable/cable.ts'
import { ControlSocket } from '../process/control-socket.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import { startInOrder } from '../process/part-group.ts'
import { SafetyNet } from '../process/safety-net.ts'
import { API_SERVER_TARGET, USUAL_HUB_NAMESPACE } from '../protocol/names.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Health } from '../telemetry/health.ts'
import { BUILD } from './build.ts'
import { DataDir } from './data-dir.ts'
import { describeFeeds } from './edge-feeds.ts'
import { upHubOptions } from './hub-settings.ts'
import { grantFirstRights } from './up-rights.ts'
import { upToken } from './up-token.ts'

/** The edges of `up` join at once or not at all. */
const UP_TOKEN_LIFE_MS = 600_000

/** For the first certificate of an endpoint: without it the ready screen would name a port that is closed. */
const UP_ENDPOINT_WAIT_MS = 60_000
const endpointPollMs = 20

export interface UpHubOptions extends Pick<HubOptions, 'clock' | 'logger' | 'registry' | 'listen'> {
  readonly kubeconfig: () => string
}

/** Where the edges of `up` find the hub. */
const upAddresses = ['127.0.0.1', 'localhost']

export class UpHub implements Part {
  readonly name = 'hub'
  readonly #options: UpHubOptions
  #hub: Hub | undefined
  #client: KubeClient | undefined

  constructor(options: UpHubOptions) {
    this.#options = options
  }

  get hub(): Hub {
    if (this.#hub === undefined) throw new Error('the hub has not been started')
    return this.#hub
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const { clock, logger, registry, listen, kubeconfig } = this.#options
    const client = new KubeClient(await loadKubeconfig({ file: kubeconfig() }), { clock })
    const hub = new Hub({ clock, logger, registry, listen, ...upHubOptions(client, upAddresses) })
    try {
      await grantFirstRights(client, USUAL_HUB_NAMESPACE)
      const running = await hub.start(signal, fail)
      this.#hub = hub
      this.#client = client
      return {
        stop: async (deadline) => {
          await running.stop(deadline)
          await client.close()
        },
      }
    } catch (error) {
      await client.close()
      throw error
    }
  }

  /** Good for that node, once, and for a short while. */
  async mintToken(node: string): Promise<string> {
    const { clock } = this.#options
    if (this.#client === undefined) throw new Error('the hub has not been started')
    const tokens = new TokenAdministration({ client: this.#client, namespace: USUAL_HUB_NAMESPACE, clock })
    return (await tokens.create({ node, uses: 1, lifeMs: UP_TOKEN_LIFE_MS })).text
  }
}

export interface UpEdgeOptions extends Pick<EdgeOptions, 'clock' | 'logger' | 'registry'> {
  readonly node: string
  /** Where all edges keep their data; each has a folder in it. */
  readonly folder: string
  readonly upHub: UpHub
  /** A local port that leads to the API server through the hub; absent: none. */
  readonly apiServerPort?: number | undefined
  readonly endpointPort: number
  readonly replica: ReplicaSettings
}

export class UpEdge implements Part {
  readonly name: string
  /** Between this edge and the hub. */
  readonly cable: Cable
  readonly #options: UpEdgeOptions
  #edge: Edge | undefined

  constructor(options: UpEdgeOptions) {
    this.name = options.node
    this.cable = new Cable(options.clock)
    this.#options = options
  }

  get status(): EdgeStatus {
    if (this.#edge === undefined) throw new Error(`${this.name} has not been started`)
    return this.#edge.status
  }

  get feeds(): FeedSummary[] {
    return this.#edge?.feeds ?? []
  }

  health(): Health {
    return this.#edge?.health() ?? { ok: false, reason: 'not started' }
  }

  endpointHealth(): Health {
    return this.#edge?.endpointHealth() ?? { ok: false, reason: 'not started' }
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const { node, folder, upHub, apiServerPort, endpointPort, replica, ...common } = this.#options
    const dataDir = join(folder, node)
    const hub = upHub.hub.url
    const mint = (): Promise<string> => upHub.mintToken(node)
    const edge = new Edge({
      ...common,
      dataDir,
      hubs: [hub],
      node,
      network: {
        carriers: 'auto',
        dial: this.cable.dial,
        destinationRules: [],
        ...forwardsOf(apiServerPort),
        endpoint: {
          port: endpointPort,
          loopback: '127.0.0.1',
          addresses: [],
          writeKubeconfigs: true,
          nat: false,
          filters: { disabled: [] },
          replica,
        },
      },
      token: () => upToken({ dataDir, hub, node, clock: common.clock, mint }),
    })
    const net = new SafetyNet(common)
    const control = new ControlSocket(dataDir, net, {
      '/v1/feeds': () => describeFeeds(node, edge.feeds),
      '/v1/status': () => ({ role: 'edge', version: BUILD.version, pid: process.pid, edge: edge.status }),
    })
    // As on a node of its own: the folder is held, and tells how its edge is.
    const running = await startInOrder([new DataDir(dataDir, 'edge'), this.#plug(), edge, control], signal, fail)
    this.#edge = edge
    await endpointSettled(edge, common.clock, signal)
    return running
  }

  /** Stops after the edge: what that has said at its end has arrived, if the cable was whole. */
  #plug(): Part {
    return { name: 'cable', start: async () => ({ stop: async () => this.cable.close() }) }
  }
}

/** The cluster of `up` signs within a moment; where it does not, `readyz` says why, and everything else serves. */
async function endpointSettled(edge: Edge, clock: Clock, signal: AbortSignal): Promise<void> {
  const giveUpMs = clock.monotonicMs() + UP_ENDPOINT_WAIT_MS
  const isSettled = (): boolean => edge.endpointHealth().ok || (edge.status.endpoint?.problems ?? []).length > 0
  while (!isSettled() && clock.monotonicMs() < giveUpMs && !signal.aborted)
    await clock.sleep(endpointPollMs, signal).catch(() => {})
}

function forwardsOf(localPort: number | undefined): Pick<EdgeNetworkSettings, 'forwards' | 'bindAddress'> {
  if (localPort === undefined) return { forwards: [] }
  return { forwards: [{ target: API_SERVER_TARGET, localPort }], bindAddress: '127.0.0.1' }
}
