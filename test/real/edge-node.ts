/**
 * A real control plane, a hub beside it, and a real node that reaches nothing but the hub: its kubelet and its kube-proxy
 * are started with the kubeconfigs that the edge wrote, and know no other API server than the endpoint.
 */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, vi } from 'vitest'
import type { RunningHub } from '../e2e/hub-cluster.ts'
import { removeFolder } from '../remove-folder.ts'
import { Daemon, kubectl, peersDirectory } from './control-plane.ts'
import { missingForNetwork, NodeNetwork, POD_ADDRESSES } from './edge-node-network.ts'
import { type HubPlane, type HubPlaneOptions, startHubPlaneWith } from './hub-plane.ts'
import { missingForNode, type RealNode, startNode } from './node.ts'
import { approveServingCertificate, KUBELET_PORT, NODE_NAME, untilReached, untilReady } from './tunnel-cluster.ts'
import { type BuiltImage, buildToolboxImage, TOOLBOX_IMAGE } from './tunnel-image.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export const PATIENCE = { timeout: 120_000, interval: 100 }
type ProxyMode = 'iptables' | 'nftables'

/** The image for its pods, and what this machine lacks. */
export function prepareEdgeNode(): { readonly image: BuiltImage; readonly missing: readonly string[] } {
  const lacking = [...missingForNode(), ...missingForNetwork()]
  if (!existsSync(join(peersDirectory(), 'kube-proxy'))) lacking.push('kube-proxy')
  const image: BuiltImage = lacking.length > 0 ? { missing: 'nothing to run it with' } : buildToolboxImage()
  return { image, missing: [...lacking, ...('missing' in image ? [`image (${image.missing})`] : [])] }
}

export class EdgeNode {
  readonly network = new NodeNetwork()
  readonly #folder = mkdtempSync(join(tmpdir(), 'causeway-edge-node-'))
  readonly #image: BuiltImage
  #world: HubPlane | undefined
  #hub: RunningHub | undefined
  #edge: Daemon | undefined
  #kubeProxy: Daemon | undefined
  #node: RealNode | undefined

  constructor(image: BuiltImage) {
    this.#image = image
  }

  get world(): HubPlane {
    if (this.#world === undefined) throw new Error('the control plane has not been started')
    return this.#world
  }

  get #front(): string {
    return join(this.#folder, 'front.sock')
  }

  get hub(): RunningHub {
    if (this.#hub === undefined) throw new Error('the hub has not been started')
    return this.#hub
  }

  get edge(): Daemon {
    if (this.#edge === undefined) throw new Error('the edge has not been started')
    return this.#edge
  }

  get kubeProxy(): Daemon {
    if (this.#kubeProxy === undefined) throw new Error('kube-proxy has not been started')
    return this.#kubeProxy
  }

  /** A file of the edge. */
  file(name: string): string {
    return join(this.#folder, 'edge', name)
  }

  /** The control plane, the hub, and an edge that has joined and does not run yet. */
  async start(more: Pick<HubPlaneOptions, 'apiServerFlags' | 'controllers'> = {}): Promise<void> {
    this.network.layCable()
    const egressFile = join(this.#folder, 'egress.json')
    writeFileSync(egressFile, JSON.stringify(egressThrough(this.#front)))
    const apiServerFlags = [
      // No node ever gets there: it is what the Service `kubernetes` names where nobody filters.
      `--advertise-address=${this.network.hubAddress}`,
      '--endpoint-reconciler-type=master-count',
      `--egress-selector-config-file=${egressFile}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      '--kubelet-client-certificate=admin.crt',
      '--kubelet-client-key=admin.key',
      '--kubelet-certificate-authority=ca.crt',
      ...(more.apiServerFlags ?? []),
    ]
    this.#world = await startHubPlaneWith({ ...more, apiServerFlags, checksServiceAccounts: true })
    await this.#prepareAccounts()
    const { url } = await this.startHub(0)
    this.network.fence(Number(new URL(url).port))
    const token = this.#world.cluster.path(await this.#world.cluster.token('token', { node: NODE_NAME }))
    const flags = ['--hub', url, '--token-file', token, '--node-name', NODE_NAME, '--data-dir', this.file('')]
    await this.network.run(process.execPath, command, 'edge', 'join', ...flags)
  }

  /** Returns how to start it again. */
  async killHub(): Promise<() => Promise<unknown>> {
    const { process: hub, url } = this.hub
    hub.kill('SIGKILL')
    await hub.exited
    return async () => await this.startHub(Number(new URL(url).port))
  }

  async startHub(port: number): Promise<RunningHub> {
    const { hubAddress } = this.network
    const listen = ['--listen', `${hubAddress}:${port}`, '--advertise', hubAddress]
    this.#hub = await this.world.cluster.hub('hub', ...listen, '--connect-front', `unix:${this.#front}`)
    return this.#hub
  }

  async startEdge(...flags: string[]): Promise<void> {
    const own = ['--data-dir', this.file(''), '--health-address', '127.0.0.1:0', '--write-kubelet-kubeconfig']
    const args = this.network.inside(process.execPath, command, 'edge', ...own, ...flags)
    this.#edge = await Daemon.start('edge', this.#folder, args, 'nsenter')
  }

  /** As somebody would who means it: with time for everything that an edge leaves as it found it. */
  async stopEdge(): Promise<void> {
    const { edge } = this
    if (edge.pid !== undefined) process.kill(edge.pid, 'SIGTERM')
    await vi.waitFor(() => expect(edge.ended).toBe(true), PATIENCE)
  }

  /** Waits until what the edge wrote leads to an API server. */
  async untilServed(): Promise<void> {
    await vi.waitFor(async () => {
      for (const name of ['kubelet.kubeconfig', 'kube-proxy.kubeconfig'])
        expect(await this.kubectlOnNode(name, 'get', '--raw', '/readyz')).toBe('ok')
    }, PATIENCE)
  }

  async startKubelet(): Promise<void> {
    if ('missing' in this.#image) throw new Error(this.#image.missing)
    this.#node = await startNode({
      name: NODE_NAME,
      kubeconfigFile: this.file('kubelet.kubeconfig'),
      caPem: readFileSync(this.world.plane.caFile, 'utf8'),
      kubeletPort: KUBELET_PORT,
      networkNamespace: this.network.namespace,
      nodeIp: this.network.nodeAddress,
      images: { archive: this.#image.archive, sandbox: TOOLBOX_IMAGE },
      podAddresses: POD_ADDRESSES,
    })
    await this.#node.addNetwork()
  }

  async restartKubelet(): Promise<void> {
    await this.#node?.restartKubelet()
  }

  get machine(): RealNode {
    if (this.#node === undefined) throw new Error('the kubelet has not been started')
    return this.#node
  }

  /** The whole node goes down at once. The cable stays as it is. */
  async cutPower(): Promise<void> {
    await this.edge.kill()
    await this.#kubeProxy?.kill()
    await this.machine.cutPower()
    await this.network.forget('edge-dummy0')
  }

  /** Lets the kubelet have the certificate of its server, and waits until it says it is ready, and can be asked. */
  async untilReady(): Promise<void> {
    await approveServingCertificate(this.world)
    await untilReady(this.world)
    await untilReached(this.world)
  }

  async startKubeProxy(mode: ProxyMode): Promise<void> {
    const file = join(this.#folder, 'kube-proxy.json')
    writeFileSync(file, JSON.stringify(kubeProxyConfig(mode, this.file('kube-proxy.kubeconfig'))))
    const args = this.network.inside(join(peersDirectory(), 'kube-proxy'), '--config', file, '--v=2')
    this.#kubeProxy = await Daemon.start(`kube-proxy-${mode}`, this.#folder, args, 'nsenter')
  }

  /** Ends it and takes away its rules, as an administrator does before another mode. */
  async stopKubeProxy(): Promise<void> {
    await this.#kubeProxy?.kill()
    await this.network.run(join(peersDirectory(), 'kube-proxy'), '--cleanup')
  }

  /** Waits for rules that send connections to the endpoint. */
  async untilTranslated(): Promise<void> {
    const isTranslated = /(dnat .*|--to-destination )169\.254\.30\.10/
    await vi.waitFor(async () => {
      // nft leaves out the targets of iptables where it cannot ask the kernel for their revisions.
      const ofIptables = await this.network.run('iptables-save', '--table', 'nat')
      expect(`${await this.rules()}${ofIptables.stdout}`).toMatch(isTranslated)
    }, PATIENCE)
  }

  /** All rules of the kernel on the node, those of iptables included, without what they counted. */
  async rules(): Promise<string> {
    return (await this.network.run('nft', '--stateless', 'list', 'ruleset')).stdout
  }

  async kubectl(...args: string[]): Promise<string> {
    return await kubectl(this.world.plane, args)
  }

  /** With one of the kubeconfigs that the edge wrote. */
  async kubectlOnNode(kubeconfig: string, ...args: string[]): Promise<string> {
    const own = ['--kubeconfig', this.file(kubeconfig), '--request-timeout=30s']
    return (await this.network.run(join(peersDirectory(), 'kubectl'), ...own, ...args)).stdout
  }

  async stop(): Promise<void> {
    try {
      await this.#node?.stop()
      await this.#kubeProxy?.kill()
    } finally {
      await this.#edge?.kill()
      await this.#world?.stop()
      this.network.remove()
      removeFolder(this.#folder)
      if (!('missing' in this.#image)) this.#image.remove()
    }
  }

  /** What controllers do for every namespace, of which none run here. */
  async #prepareAccounts(): Promise<void> {
    for (const namespace of ['default', 'kube-system']) {
      await this.kubectl('create', 'serviceaccount', 'default', '-n', namespace)
      const ca = `--from-file=ca.crt=${this.world.plane.caFile}`
      await this.kubectl('create', 'configmap', 'kube-root-ca.crt', ca, '-n', namespace)
    }
  }
}

function egressThrough(socket: string): object {
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: socket } } }
  return {
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [{ name: 'cluster', connection }],
  }
}

function kubeProxyConfig(mode: ProxyMode, kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    clientConnection: { kubeconfig },
    hostnameOverride: NODE_NAME,
    clusterCIDR: POD_ADDRESSES,
    // Settings of the whole machine, which is not ours.
    conntrack: { maxPerCore: 0, min: 0 },
  }
}
