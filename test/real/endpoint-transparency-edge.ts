/** A real control plane with a hub beside it, and an edge that has joined and whose endpoint is open. */
import type { Launched } from '../e2e/harness.ts'
import type { Credential, HubCluster, RunningHub } from '../e2e/hub-cluster.ts'
import { type ControlPlane, type ControlPlaneOptions, freePorts } from './control-plane.ts'
import { type HubPlane, startHubPlaneWith } from './hub-plane.ts'

export const NODE = 'edge-1'

export class EndpointWorld {
  readonly #world: HubPlane
  readonly #edge: Launched
  readonly #hubAddress: string
  #hub: RunningHub
  /** Of the endpoint, as `plane.server` is of the API server. */
  readonly endpoint: string
  /** Of the edge. */
  readonly health: string

  private constructor(world: HubPlane, hub: RunningHub, edge: Launched, ports: { endpoint: number; health: number }) {
    this.#world = world
    this.#hub = hub
    this.#hubAddress = new URL(hub.url).host
    this.#edge = edge
    this.endpoint = `https://127.0.0.1:${ports.endpoint}`
    this.health = `http://127.0.0.1:${ports.health}`
  }

  static async start(options: ControlPlaneOptions, ...edgeFlags: string[]): Promise<EndpointWorld> {
    const world = await startHubPlaneWith(options)
    try {
      const { cluster } = world
      // One that it still has after it was killed.
      const [hubPort = 0, health = 0] = await freePorts(2)
      const hub = await cluster.hub('hub', '--listen', `127.0.0.1:${hubPort}`)
      const token = await cluster.token('token', { node: NODE })
      const own = ['--hub', hub.url, '--token-file', token, '--health-address', `127.0.0.1:${health}`]
      const edge = await cluster.edge(NODE, ...own, ...edgeFlags)
      await edge.logged('the endpoint is open')
      const endpoint = edge.log.find(({ msg }) => msg === 'the endpoint is open')?.['port'] as number
      return new EndpointWorld(world, hub, edge, { endpoint, health })
    } catch (error) {
      await world.stop()
      throw error
    }
  }

  get plane(): ControlPlane {
    return this.#world.plane
  }

  get cluster(): HubCluster {
    return this.#world.cluster
  }

  get edge(): Launched {
    return this.#edge
  }

  /** With which the node is itself at the API server. */
  nodeCertificate(): Credential {
    const { cluster } = this
    return { cert: cluster.text(`${NODE}/kubelet-client.crt`), key: cluster.text(`${NODE}/kubelet-client.key`) }
  }

  /** For an account of the namespace `shared`, by way of the endpoint. */
  writeKubeconfig(token: string): string {
    const cluster = { server: this.endpoint, 'certificate-authority': this.plane.caFile }
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'edge', cluster }],
      users: [{ name: 'account', user: { token } }],
      contexts: [{ name: 'edge', context: { cluster: 'edge', user: 'account', namespace: 'shared' } }],
      'current-context': 'edge',
    })
    return this.cluster.path(this.cluster.write('account.kubeconfig', text))
  }

  async killHub(): Promise<void> {
    this.#hub.process.kill('SIGKILL')
    await this.#hub.process.exited
  }

  /** At the address that it had. */
  async startHub(): Promise<void> {
    this.#hub = await this.cluster.hub('hub', '--listen', this.#hubAddress)
  }

  async stop(): Promise<void> {
    await this.#world.stop()
  }
}
