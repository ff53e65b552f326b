/**
 * A real control plane whose way into its node leads through a hub and an edge of ours, and a real node whose way to the
 * control plane does too: its kubelet knows no other address of the API server than a port of the edge.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { certificateSigningRequests, nodes, secrets } from '../../src/kube/index.ts'
import type { Launched } from '../e2e/harness.ts'
import type { HubCluster, RunningHub } from '../e2e/hub-cluster.ts'
import { removeFolder } from '../remove-folder.ts'
import { type ControlPlane, freePorts, kubectl } from './control-plane.ts'
import { type HubPlane, startHubPlane } from './hub-plane.ts'
import { type RealNode, startNode } from './node.ts'
import { TOOLBOX_IMAGE } from './tunnel-image.ts'

export const NODE_NAME = 'edge-1'
/** What every edge lets hubs reach. */
export const KUBELET_PORT = 10_250

export type EgressProtocol = 'HTTPConnect' | 'GRPC'

const patience = { timeout: 100_000, interval: 200 }

export interface TunnelClusterOptions {
  readonly imageArchive: string
  /** A port of the node that the control plane may reach besides the kubelet's. */
  readonly webhookPort: number
}

export class TunnelCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'causeway-pods-'))
  #world: HubPlane | undefined
  #node: RealNode | undefined
  #hub: RunningHub | undefined
  #edge: Launched | undefined

  get plane(): ControlPlane {
    return this.#running.plane
  }

  get cluster(): HubCluster {
    return this.#running.cluster
  }

  get hub(): Launched {
    if (this.#hub === undefined) throw new Error('there is no hub yet')
    return this.#hub.process
  }

  get edge(): Launched {
    if (this.#edge === undefined) throw new Error('there is no edge yet')
    return this.#edge
  }

  get #running(): HubPlane {
    if (this.#world === undefined) throw new Error('the control plane has not been started')
    return this.#world
  }

  async start({ imageArchive, webhookPort }: TunnelClusterOptions): Promise<void> {
    this.#writeEgress('HTTPConnect')
    this.#world = await startHubPlane(
      `--egress-selector-config-file=${this.#egressFile}`,
      '--enable-bootstrap-token-auth=true',
      // A Service is reached by the address of its pod: there is no kube-proxy for the other one.
      '--enable-aggregator-routing=true',
      // A name would do for all but the proxy of nodes, for which kube-apiserver asks the DNS of its own machine.
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      '--kubelet-client-certificate=admin.crt',
      '--kubelet-client-key=admin.key',
      '--kubelet-certificate-authority=ca.crt',
    )
    const fronts = [
      '--connect-front',
      `unix:${this.#socket('HTTPConnect')}`,
      '--grpc-front',
      `unix:${this.#socket('GRPC')}`,
    ]
    this.#hub = await this.cluster.hub('hub', ...fronts)
    const server = await this.#startEdge(this.#hub.url, webhookPort)
    await this.#startNode(server, imageArchive)
  }

  /** Has the API server reach into the node by the other protocol. */
  async useEgress(protocol: EgressProtocol): Promise<void> {
    this.#writeEgress(protocol)
    await this.plane.killApiServer()
    await this.plane.startApiServer()
  }

  async stop(): Promise<void> {
    try {
      await this.#node?.stop()
    } finally {
      await this.#world?.stop()
      removeFolder(this.folder)
    }
  }

  async kubectl(...args: string[]): Promise<string> {
    return await kubectl(this.plane, args)
  }

  async apply(object: object): Promise<void> {
    await kubectl(this.plane, ['apply', '-f', '-'], JSON.stringify(object))
  }

  /** The address of the node for pods and the control plane. */
  async nodeAddress(): Promise<string> {
    const { status } = await this.cluster.client.resource(nodes).get(NODE_NAME)
    return status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? ''
  }

  get #egressFile(): string {
    return join(this.folder, 'egress.json')
  }

  #socket(protocol: EgressProtocol): string {
    return join(this.folder, `${protocol}.sock`)
  }

  #writeEgress(proxyProtocol: EgressProtocol): void {
    const connection = { proxyProtocol, transport: { uds: { udsName: this.#socket(proxyProtocol) } } }
    const configuration = {
      apiVersion: 'apiserver.k8s.io/v1beta1',
      kind: 'EgressSelectorConfiguration',
      egressSelections: [{ name: 'cluster', connection }],
    }
    writeFileSync(this.#egressFile, JSON.stringify(configuration))
  }

  async #startEdge(hub: string, webhookPort: number): Promise<string> {
    const [port] = await freePorts(1)
    const token = await this.cluster.token('token', { node: NODE_NAME })
    const target = ['--target', `kube-apiserver:6443:${port}`, '--bind-address', '127.0.0.1']
    const allowed = ['--allow-destination', `0.0.0.0/0:${webhookPort}`]
    this.#edge = await this.cluster.edge(NODE_NAME, '--hub', hub, '--token-file', token, ...target, ...allowed)
    return `https://127.0.0.1:${port}`
  }

  async #startNode(server: string, archive: string): Promise<void> {
    const bootstrapToken = await allowBootstrap(this.#running)
    const caPem = readFileSync(this.plane.caFile, 'utf8')
    const images = { archive, sandbox: TOOLBOX_IMAGE }
    this.#node = await startNode({ name: NODE_NAME, server, caPem, bootstrapToken, kubeletPort: KUBELET_PORT, images })
    await approveServingCertificate(this.#running)
    await this.#node.addNetwork()
    await untilReady(this.#running)
    await untilReached(this.#running)
  }
}

/** What an administrator does once for a cluster; a token to ask for a first certificate with. */
export async function allowBootstrap({ plane, cluster }: HubPlane): Promise<string> {
  const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' }
  const secret = { metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token' }
  await cluster.client
    .resource(secrets)
    .in('kube-system')
    .create({ ...secret, stringData: data })
  const bind = async (name: string, role: string): Promise<string> =>
    await kubectl(plane, [
      'create',
      'clusterrolebinding',
      name,
      `--clusterrole=${role}`,
      '--group=system:bootstrappers',
    ])
  await bind('bootstrappers', 'system:node-bootstrapper')
  await bind('auto-approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient')
  return 'abcdef.0123456789abcdef'
}

/**
 * Waits until the kubelet itself, and not the hub for the edge, has asked for a serving certificate, and lets it have it.
 * One that has learnt of another address of its own in the meantime has asked twice.
 */
export async function approveServingCertificate({ plane, cluster }: HubPlane): Promise<void> {
  const names = await vi.waitFor(async () => {
    const { items } = await cluster.client.resource(certificateSigningRequests).list()
    const found = items.filter(
      ({ spec }) =>
        spec?.signerName === 'kubernetes.io/kubelet-serving' && spec.username === `system:node:${NODE_NAME}`,
    )
    if (found.length === 0) throw new Error('the kubelet has not asked for a serving certificate')
    return found.map(({ metadata }) => metadata?.name ?? '')
  }, patience)
  await kubectl(plane, ['certificate', 'approve', ...names])
}

/** Waits until the kubelet has got its certificate, without which nobody can ask it. */
export async function untilReached({ plane }: HubPlane): Promise<void> {
  const path = `/api/v1/nodes/${NODE_NAME}/proxy/healthz`
  await vi.waitFor(() => kubectl(plane, ['get', '--raw', path]), patience)
}

export async function untilReady({ cluster }: HubPlane): Promise<void> {
  await vi.waitFor(async () => {
    const { status } = await cluster.client.resource(nodes).get(NODE_NAME)
    const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')
    if (isReady !== true) throw new Error(`node ${NODE_NAME} is not ready`)
  }, patience)
}
