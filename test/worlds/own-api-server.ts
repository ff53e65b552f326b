/**
 * Our own API server in this process, for tests of what talks to one: real HTTP, real rules, nothing on disk but keys. Its
 * clients can be made to lose requests and answers.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ApiServer, type ApiServerSettings } from '../../src/apiserver/api-server.ts'
import { REPLACEABLE_CONTROLLERS, type ReplaceableController } from '../../src/apiserver/controllers/replaceable.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import {
  type ConnectionConfig,
  HttpTransport,
  KubeClient,
  loadKubeconfig,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResult,
} from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { removeFolder } from '../remove-folder.ts'

export interface OwnApiServer {
  readonly connection: ConnectionConfig
  /** Closed with the server. */
  client(transport?: Transport): KubeClient
  /** A client of this user, whom RBAC gives what the test has bound. */
  clientOf(user: string, groups?: readonly string[]): KubeClient
  stop(): Promise<void>
}

/** Without the controllers that a kube-controller-manager would bring, unless a test needs them. */
export async function startOwnApiServer(
  skippedControllers: readonly ReplaceableController[] = REPLACEABLE_CONTROLLERS,
  changes: Partial<ApiServerSettings> = {},
): Promise<OwnApiServer> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-hub-'))
  const server = new ApiServer({
    dataDir: folder,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    health: new HealthChecks(systemClock),
    registry: new Registry(),
    sharesStore: false,
    skippedControllers,
    openStore: () => Promise.resolve(new MemoryStore(systemClock)),
    ...changes,
  })
  const running = await server.start(new AbortController().signal, (cause) => {
    throw cause
  })
  const connection = await loadKubeconfig({ file: server.adminKubeconfig })
  const clients: KubeClient[] = []
  const opened = (client: KubeClient): KubeClient => {
    clients.push(client)
    return client
  }
  return {
    connection,
    client: (transport) => opened(new KubeClient(connection, transport === undefined ? {} : { transport })),
    clientOf: (user, groups = []) =>
      opened(new KubeClient({ ...connection, impersonation: { user, groups, extra: {} } })),
    stop: async () => {
      await Promise.all(clients.map((client) => client.close()))
      await running.stop(AbortSignal.abort())
      removeFolder(folder)
    },
  }
}

export type Fate =
  | 'pass'
  /** The request never arrives. */
  | 'lost-request'
  /** The server acts on it, and nobody learns. */
  | 'lost-answer'

/** A transport that asks for each request, in order, what becomes of it, and keeps what was asked. */
export class UnreliableTransport implements Transport {
  readonly asked: string[] = []
  readonly #open = new Set<TransportResponse['body']>()
  readonly #inner: HttpTransport
  readonly #fateOf: (index: number, request: TransportRequest) => Fate

  constructor(connection: ConnectionConfig, fateOf: (index: number, request: TransportRequest) => Fate) {
    this.#inner = new HttpTransport(connection, { clock: systemClock })
    this.#fateOf = fateOf
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const fate = this.#fateOf(this.asked.length, request)
    this.asked.push(`${request.method} ${request.path}`)
    if (fate === 'lost-request') throw new TransportError('reset', 'the request was lost')
    const response = await this.#inner.request(request)
    this.#open.add(response.body)
    response.body.once('close', () => this.#open.delete(response.body))
    if (fate === 'pass') return response
    response.body.resume()
    throw new TransportError('reset', 'the answer was lost')
  }

  /** Breaks every answer that has not ended, such as a watch. */
  breakOff(): void {
    for (const body of this.#open) body.destroy(new TransportError('reset', 'the connection broke'))
  }

  upgrade(request: Omit<TransportRequest, 'body'>, protocol: string): Promise<UpgradeResult> {
    return this.#inner.upgrade(request, protocol)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}
