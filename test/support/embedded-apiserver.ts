/** Our own API server inside the test's process: what the hub's tests talk to, over real TLS, with real rules. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { KubeClient, loadKubeconfig } from '../../src/kube/client/index.ts'
import { type Clock, systemClock } from '../../src/telemetry/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { createLogger, type Logger } from '../../src/telemetry/logger.ts'

export interface EmbeddedApiServer {
  readonly url: string
  readonly kubeconfig: string
  /** The cluster's CA, in PEM. */
  readonly caPem: string
  /** As the administrator; closed with the server. */
  readonly client: KubeClient
  /** A client of somebody who presents this token. */
  clientWithToken(token: string): KubeClient
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  readonly clock?: Clock
  /** As the file of `--token-auth-file`. */
  readonly tokensCsv?: string
}

export function silentLogger(): Logger {
  return createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock: systemClock })
}

export async function startEmbedded({
  clock = systemClock,
  tokensCsv,
}: EmbeddedOptions = {}): Promise<EmbeddedApiServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'embedded-'))
  const server = new ApiServer({
    dataDir,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock,
    logger: silentLogger(),
    health: new HealthChecks(clock),
    registry: new Registry(),
    sharesStore: false,
    openStore: async () => new MemoryStore(clock),
    ...(tokensCsv === undefined ? {} : { tokens: { csv: tokensCsv, source: 'the tokens of the test' } }),
  })
  const running = await server.start(new AbortController().signal, (cause) => {
    throw cause
  })
  const connection = await loadKubeconfig({ file: server.adminKubeconfig })
  const clients = [new KubeClient(connection)]
  const [client] = clients as [KubeClient]
  return {
    url: server.url,
    kubeconfig: server.adminKubeconfig,
    caPem: readFileSync(join(dataDir, 'ca.crt'), 'utf8'),
    client,
    clientWithToken: (token) => {
      const { clientCertificate: _administrator, ...tls } = connection.tls
      const credentials = { type: 'token', token: { data: Buffer.from(token) } } as const
      const made = new KubeClient({ ...connection, tls, credentials })
      clients.push(made)
      return made
    },
    stop: async () => {
      await Promise.all(clients.map((each) => each.close()))
      await running.stop(AbortSignal.abort())
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
