/**
 * A cloud and its edges in one process, each part as it runs: our API server, a hub in that cluster, and edges that join it, with a
 * session of the tunnel between them and an endpoint each. For what takes all of them.
 */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { EdgeNetworkSettings } from '../../src/edge/compose.ts'
import { Edge } from '../../src/edge/edge.ts'
import { EdgeFiles } from '../../src/edge/identity/edge-files.ts'
import { type JoinResult, joinHub } from '../../src/edge/join/join.ts'
import { ClaimStore } from '../../src/hub/claims/claim-store.ts'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { Hub } from '../../src/hub/hub.ts'
import { KubeClient, pods, serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { API_SERVER_TARGET, USUAL_HUB_NAMESPACE } from '../../src/protocol/names.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { removeFolder } from '../remove-folder.ts'
import { type OwnApiServer, startOwnApiServer } from './own-api-server.ts'
import { servedCluster } from './served-cluster.ts'

/** A target that no hub of this world allows. */
const DENIED_TARGET = 'database:5432'

const hourMs = 3_600_000
const pollMs = 20
const logger = pino({ level: 'silent' })
const neverEnding = new AbortController().signal

function raise(cause: unknown): never {
  throw cause
}

/** How an edge of this world differs from the usual one. */
interface EdgeWishes {
  readonly clock?: Clock
  readonly dial?: EdgeNetworkSettings['dial']
  /** False: it need not find its hub. */
  readonly isLinked?: boolean
}

interface RunningEdge {
  readonly edge: Edge
  readonly running: RunningPart
}

export class SiteWorld {
  readonly api: OwnApiServer
  readonly admin: KubeClient
  readonly tokens: TokenAdministration
  readonly claims: ClaimStore
  readonly #hub: Hub
  readonly #hubRunning: RunningPart
  readonly #folder = mkdtempSync(join(tmpdir(), 'causeway-site-'))
  readonly #edges = new Map<string, RunningEdge>()
  readonly #clients: KubeClient[] = []

  private constructor(api: OwnApiServer, hub: Hub, hubRunning: RunningPart) {
    const client = api.client()
    const shared = { client, namespace: USUAL_HUB_NAMESPACE, clock: systemClock }
    this.api = api
    this.admin = client
    this.#hub = hub
    this.#hubRunning = hubRunning
    this.tokens = new TokenAdministration(shared)
    this.claims = new ClaimStore({ ...shared, random: systemRandom, logger })
  }

  static async start(changes: Parameters<typeof startOwnApiServer>[1] = {}): Promise<SiteWorld> {
    const api = await startOwnApiServer([], changes)
    const hub = new Hub({
      clusters: [servedCluster(api.client(), { kubernetesCertificateLifeMs: hourMs })],
      clock: systemClock,
      logger,
      registry: new Registry(),
      listen: { host: '127.0.0.1', port: 0 },
      certificateLifeMs: hourMs,
      renewalGraceMs: hourMs,
    })
    return new SiteWorld(api, hub, await hub.start(neverEnding, raise))
  }

  /** Rejects with a `JoinError`. */
  async join(node: string, token: string): Promise<JoinResult> {
    const dataDir = this.dataDir(node)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    return await joinHub({
      files: new EdgeFiles(dataDir),
      hubs: [this.#hub.url],
      node,
      token: { kind: 'text', text: token },
      clock: systemClock,
      random: systemRandom.fraction,
    })
  }

  /** What a node has on its disk goes, as if the machine had been set up anew. */
  wipe(node: string): void {
    removeFolder(this.dataDir(node))
  }

  /** Of a node that has joined. Resolves when it has a link and its endpoint serves. */
  async startEdge(node: string, { clock = systemClock, dial, isLinked = true }: EdgeWishes = {}): Promise<void> {
    const edge = new Edge({
      dataDir: this.dataDir(node),
      clock,
      logger,
      registry: new Registry(),
      hubs: [this.#hub.url],
      node,
      network: {
        carriers: 'auto',
        dial,
        destinationRules: [],
        bindAddress: '127.0.0.1',
        forwards: [API_SERVER_TARGET, DENIED_TARGET].map((target) => ({ target, localPort: 0 })),
        endpoint: {
          port: 0,
          loopback: '127.0.0.1',
          addresses: [],
          writeKubeconfigs: false,
          nat: false,
          filters: { disabled: [] },
        },
      },
    })
    this.#edges.set(node, { edge, running: await edge.start(neverEnding, raise) })
    const isUp = (): boolean => !isLinked || edge.status.network.links.every(({ state }) => state === 'up')
    while (!edge.endpointHealth().ok || !isUp()) await systemClock.sleep(pollMs)
  }

  async stopEdge(node: string): Promise<void> {
    await this.#edge(node).running.stop(AbortSignal.abort())
    this.#edges.delete(node)
  }

  /** The token of this account in the namespace default, which is made if it is missing. */
  async accountToken(name: string): Promise<string> {
    const accounts = this.admin.resource(serviceAccounts).in('default')
    await accounts.create({ metadata: { name } })
    return (await accounts.subresource(name, tokenRequests).create({ spec: { audiences: [] } })).status?.token ?? ''
  }

  /** Resolves when the API server knows of it. */
  async letView(account: string, token: string): Promise<void> {
    const group = 'rbac.authorization.k8s.io'
    const bindings = { group, version: 'v1', resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' } as const
    const subjects = [{ kind: 'ServiceAccount', name: account, namespace: 'default' }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' }
    await this.admin
      .resource({ ...bindings, namespaced: false })
      .create({ metadata: { name: account }, roleRef, subjects })
    const list = () => this.clientAt('cloud', token).resource(pods).in('default').list()
    while (
      !(await list().then(
        () => true,
        () => false,
      ))
    )
      await systemClock.sleep(pollMs)
  }

  /** A client of the API server itself, at `cloud`, or of the endpoint of an edge; without a token it is anonymous. */
  clientAt(place: string, token: string | undefined): KubeClient {
    const { connection } = this.api
    const client = new KubeClient({
      ...connection,
      server: place === 'cloud' ? connection.server : `https://127.0.0.1:${this.endpointPort(place)}`,
      tls: { ca: connection.tls.ca, skipVerify: false },
      credentials: token === undefined ? { type: 'anonymous' } : { type: 'token', token: { data: Buffer.from(token) } },
    })
    this.#clients.push(client)
    return client
  }

  /** Begins TLS with a target by a forward of the edge: whether the cluster's API server is there, else why not. */
  async dial(node: string, target: string): Promise<string> {
    const forward = () => this.edge(node).status.network.forwards.find((each) => each.target === target)
    const { host = '', port = 0 } = forward()?.listen ?? {}
    const { ca } = this.api.connection.tls
    const trusted = ca !== undefined && 'data' in ca ? ca.data : undefined
    const socket = connect({ host, port, ca: trusted, servername: 'kubernetes' }).on('error', () => {})
    let isAnswered = false
    socket.once('secureConnect', () => {
      isAnswered = true
      socket.destroy()
    })
    await new Promise((resolve) => socket.once('close', resolve))
    return isAnswered ? 'the API server answers' : (forward()?.lastError ?? 'nobody answers')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    for (const node of [...this.#edges.keys()]) await this.stopEdge(node)
    await this.#hubRunning.stop(AbortSignal.abort())
    await this.api.stop()
    removeFolder(this.#folder)
  }

  dataDir(node: string): string {
    return join(this.#folder, node)
  }

  endpointPort(node: string): number {
    return this.edge(node).status.endpoint?.port ?? 0
  }

  edge(node: string): Edge {
    return this.#edge(node).edge
  }

  #edge(node: string): RunningEdge {
    const found = this.#edges.get(node)
    if (found === undefined) throw new Error(`no edge ${node} runs here`)
    return found
  }
}
