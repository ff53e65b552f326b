/**
 * A cloud that can be disturbed and an edge that is a process of its own: our API server on a store that outlives it, a hub, and
 * between them and the edge a cable. Everything comes back on its old port.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { decorateStore } from '../../src/apiserver/storage/decorate-store.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { Hub } from '../../src/hub/hub.ts'
import { type ConnectionConfig, KubeClient, serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import { Cable } from '../../src/network/cable/cable.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { USUAL_HUB_NAMESPACE } from '../../src/protocol/names.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Launched, launch, makeWorkingDir } from '../e2e/harness.ts'
import { lastingPort } from '../lasting-port.ts'
import { type OwnApiServer, startOwnApiServer } from '../worlds/own-api-server.ts'
import { servedCluster } from '../worlds/served-cluster.ts'

export const NAMESPACE = 'chaos'

const local = '127.0.0.1'
const node = 'edge-1'
const hourMs = 3_600_000
const pollMs = 50
const logger = pino({ level: 'silent' })
const neverEnding = new AbortController().signal

function raise(cause: unknown): never {
  throw cause
}

interface Ports {
  readonly api: number
  readonly hub: number
  readonly cable: number
  readonly endpoint: number
}

export class ChaosWorld {
  readonly #folder = makeWorkingDir()
  readonly #store = new MemoryStore(systemClock)
  readonly #cable = new Cable(systemClock)
  readonly #ports: Ports
  readonly #clients: KubeClient[] = []
  #api!: OwnApiServer
  #hub: RunningPart | undefined
  #edge!: Launched
  #socket!: Server
  #admin!: KubeClient
  #earlierLogs = ''

  private constructor(ports: Ports) {
    this.#ports = ports
  }

  static async start(): Promise<ChaosWorld> {
    const [api, hub, cable, endpoint] = [
      await lastingPort(),
      await lastingPort(),
      await lastingPort(),
      await lastingPort(),
    ]
    const world = new ChaosWorld({ api, hub, cable, endpoint })
    mkdirSync(join(world.#folder, 'api'))
    await world.#startApi()
    await world.#startHub()
    world.#socket = await world.#listen()
    const token = await world.#joinToken()
    await world.startEdge('--token-file', token)
    await world.#admin.exchange(
      { method: 'POST', path: '/api/v1/namespaces' },
      { kind: 'Namespace', apiVersion: 'v1', metadata: { name: NAMESPACE } },
    )
    return world
  }

  /** A client of the API server itself, which may do everything; another one after each restart. */
  get admin(): KubeClient {
    return this.#admin
  }

  /** The same for good. */
  oracle(): KubeClient {
    return this.#opened(this.#api.connection)
  }

  /** A client of the endpoint, as an account of its own that may read. */
  async reader(name: string): Promise<KubeClient> {
    const accounts = this.#admin.resource(serviceAccounts).in('default')
    await accounts.create({ metadata: { name } })
    const asked = await accounts.subresource(name, tokenRequests).create({ spec: { audiences: [] } })
    const group = 'rbac.authorization.k8s.io'
    await this.#admin.exchange(
      { method: 'POST', path: `/apis/${group}/v1/clusterrolebindings` },
      {
        kind: 'ClusterRoleBinding',
        apiVersion: `${group}/v1`,
        metadata: { name },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
      },
    )
    return this.#opened({
      ...this.#api.connection,
      server: `https://${local}:${this.#ports.endpoint}`,
      tls: { ca: this.#api.connection.tls.ca, skipVerify: false },
      credentials: { type: 'token', token: { data: Buffer.from(asked.status?.token ?? '') } },
    })
  }

  cut(): void {
    this.#cable.change({ isCut: true, delayMs: 0 })
  }

  restore(delayMs = 0): void {
    this.#cable.change({ isCut: false, delayMs })
  }

  async restartApi(downMs: number): Promise<void> {
    await this.#api.stop()
    await systemClock.sleep(downMs)
    await this.#startApi()
  }

  async restartHub(downMs: number): Promise<void> {
    await this.#hub?.stop(AbortSignal.abort())
    await systemClock.sleep(downMs)
    await this.#startHub()
  }

  /** All that has happened up to now cannot be watched from any more. */
  async compact(): Promise<void> {
    await this.#store.compact(await this.#store.revision())
  }

  async killEdge(downMs: number): Promise<void> {
    this.#edge.kill('SIGKILL')
    await this.#edge.exited
    this.#earlierLogs += this.#edge.stderr
    await systemClock.sleep(downMs)
    await this.startEdge()
  }

  async startEdge(...flags: string[]): Promise<void> {
    const hub = `https://${local}:${this.#ports.cable}`
    this.#edge = launch(
      ['edge', '--data-dir', node, '--health-address', `${local}:0`, '--hub', hub, '--node-name', node, ...flags],
      {
        workingDir: this.#folder,
        environment: { CAUSEWAY_EDGE_ENDPOINT_PORT: String(this.#ports.endpoint), NODE_OPTIONS: '--trace-warnings' },
      },
    )
    await this.#edge.shows(/^ready .*\n/)
  }

  /** What the edge has open and how much memory it holds, as the system counts it. */
  get usage(): { readonly handles: number; readonly residentMiB: number; readonly files: number } {
    const { pid } = this.#edge
    const [, resident = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return {
      handles: readdirSync(`/proc/${pid}/fd`).length,
      residentMiB: Math.round(Number(resident) / 1024),
      files: readdirSync(join(this.#folder, node), { recursive: true }).length,
    }
  }

  /** What the edge said that nobody should have to read: errors, and warnings of Node itself. */
  get complaints(): readonly string[] {
    const lines = this.log.split('\n').filter((line) => line !== '')
    return lines.filter((line) => !/^\{"level":"(debug|info|warn)"/.test(line))
  }

  /** All that the edge said, in all its lives. */
  get log(): string {
    return this.#earlierLogs + this.#edge.stderr
  }

  async stop(): Promise<void> {
    this.#edge.kill('SIGTERM')
    this.restore()
    await this.#edge.exited
    this.#cable.close()
    this.#socket.close()
    await Promise.all(this.#clients.map((client) => client.close()))
    await this.#hub?.stop(AbortSignal.abort())
    await this.#api.stop()
  }

  async #startApi(): Promise<void> {
    const store = decorateStore(this.#store, { close: () => Promise.resolve() })
    this.#api = await startOwnApiServer([], {
      dataDir: join(this.#folder, 'api'),
      address: { host: local, port: this.#ports.api },
      openStore: () => Promise.resolve(store),
    })
    this.#admin = this.#api.client()
  }

  async #startHub(): Promise<void> {
    const hub = new Hub({
      clusters: [servedCluster(this.#opened(this.#api.connection), { kubernetesCertificateLifeMs: hourMs })],
      clock: systemClock,
      logger,
      registry: new Registry(),
      listen: { host: local, port: this.#ports.hub },
      certificateLifeMs: hourMs,
      renewalGraceMs: hourMs,
    })
    for (;;) {
      try {
        this.#hub = await hub.start(neverEnding, raise)
        return
      } catch {
        // The API server may be away as well.
        await systemClock.sleep(pollMs)
      }
    }
  }

  /** Where the edge finds its hub: at the far end of the cable. */
  async #listen(): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (near) => {
      const gone = new AbortController()
      near.on('error', () => {}).on('close', () => gone.abort(new Error('the edge has gone')))
      void this.#join(near, gone.signal)
    })
    await new Promise<void>((resolve) => server.listen(this.#ports.cable, local, resolve))
    return server
  }

  async #join(near: Socket, signal: AbortSignal): Promise<void> {
    try {
      const far = await this.#cable.dial({ host: local, port: this.#ports.hub }, signal)
      pipeline(near, far, () => {})
      pipeline(far, near, () => {})
    } catch {
      near.destroy()
    }
  }

  async #joinToken(): Promise<string> {
    const shared = { client: this.#admin, namespace: USUAL_HUB_NAMESPACE, clock: systemClock }
    const { text } = await new TokenAdministration(shared).create({ node, lifeMs: hourMs })
    const file = join(this.#folder, 'token')
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }

  #opened(connection: ConnectionConfig): KubeClient {
    const client = new KubeClient(connection)
    this.#clients.push(client)
    return client
  }
}
