/** Pods on the node of `edge-node.ts`: what they know of an API server, and whether they reach it as themselves. */
import { kubectl, peersDirectory } from './control-plane.ts'
import type { EdgeNode } from './edge-node.ts'
import { NODE_NAME } from './tunnel-cluster.ts'
import { TOOLBOX_IMAGE } from './tunnel-image.ts'

/** The first of the range that the control plane gives to Services. */
export const CLUSTER_IP = '10.96.0.1'
export const SERVICE_NAME = 'kubernetes.default.svc'

interface PodWish {
  readonly namespace?: string
  readonly hostNetwork?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  /** Mounted at `/config`. */
  readonly configMap?: string
  /** Mounted at `/secret`. */
  readonly secret?: string
  readonly serviceAccountName?: string
  /** Folders of this machine, at the same place in the pod. */
  readonly folders?: readonly string[]
  /** More of the container. */
  readonly container?: Readonly<Record<string, unknown>>
}

export class Pod {
  readonly #node: EdgeNode
  readonly #name: string
  readonly #namespace: string

  private constructor(node: EdgeNode, name: string, namespace: string) {
    this.#node = node
    this.#name = name
    this.#namespace = namespace
  }

  /** Waits until it runs. */
  static async run(node: EdgeNode, name: string, wish: PodWish = {}): Promise<Pod> {
    const { namespace = 'default' } = wish
    await kubectl(node.world.plane, ['create', '-n', namespace, '-f', '-'], JSON.stringify(manifest(name, wish)))
    await node.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace, '--timeout=120s')
    return new Pod(node, name, namespace)
  }

  async exec(...command: string[]): Promise<string> {
    return await this.#node.kubectl('exec', this.#name, '-n', this.#namespace, '--', ...command)
  }

  /** Where it was told that its API server is. */
  async env(): Promise<{ host: string | undefined; port: string | undefined }> {
    const variables = new Map(
      (await this.exec('env')).split('\n').map((line) => line.split('=', 2) as [string, string]),
    )
    return { host: variables.get('KUBERNETES_SERVICE_HOST'), port: variables.get('KUBERNETES_SERVICE_PORT') }
  }

  /** Who a client with nothing but InClusterConfig is to the API server; at another place than the pod was told, if given. */
  async whoami(place?: { readonly host: string; readonly port: string }): Promise<string> {
    const own = place && [`KUBERNETES_SERVICE_HOST=${place.host}`, `KUBERNETES_SERVICE_PORT=${place.port}`]
    const question = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']
    return await this.exec('env', ...(own ?? []), '/peers/kubectl', ...question)
  }

  async restarts(): Promise<string> {
    const path = 'jsonpath={.status.containerStatuses[0].restartCount}'
    return await this.#node.kubectl('get', 'pod', this.#name, '-n', this.#namespace, '-o', path)
  }
}

function manifest(name: string, wish: PodWish): object {
  const {
    hostNetwork = false,
    serviceAccountName = 'default',
    env = {},
    configMap,
    secret,
    labels = {},
    folders = [],
  } = wish
  const mounted = [
    { volume: { name: 'peers', hostPath: { path: peersDirectory() } }, mountPath: '/peers' },
    ...(configMap === undefined
      ? []
      : [{ volume: { name: 'config', configMap: { name: configMap } }, mountPath: '/config' }]),
    ...(secret === undefined
      ? []
      : [{ volume: { name: 'secret', secret: { secretName: secret } }, mountPath: '/secret' }]),
    ...folders.map((path, index) => ({ volume: { name: `folder-${index}`, hostPath: { path } }, mountPath: path })),
  ]
  const container = {
    name: 'main',
    image: TOOLBOX_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/bin/main', '0'],
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
    volumeMounts: mounted.map(({ volume, mountPath }) => ({ name: volume.name, mountPath, readOnly: true })),
    ...wish.container,
  }
  const spec = {
    nodeName: NODE_NAME,
    serviceAccountName,
    hostNetwork,
    terminationGracePeriodSeconds: 0,
    // There is no DNS here.
    hostAliases: [{ ip: CLUSTER_IP, hostnames: [SERVICE_NAME] }],
    containers: [container],
    volumes: mounted.map(({ volume }) => volume),
  }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec }
}
