/**
 * The endpoint as it runs before our own API server, both in this process: what an attacker on the node meets. Only the
 * tunnel is left out: connections to the API server are plain TCP, with the same TLS inside.
 */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { loadPki, type Pki } from '../../src/apiserver/pki/pki.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { Endpoint, type EndpointOptions } from '../../src/edge/endpoint/endpoint.ts'
import { createFilterMetrics } from '../../src/edge/filters/filter-metrics.ts'
import { ResponseFilters } from '../../src/edge/filters/response-filters.ts'
import { TokenReviews } from '../../src/edge/readers/token-review.ts'
import { PooledUpstream } from '../../src/edge/upstream/pooled-upstream.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import type { DistinguishedName } from '../../src/identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { type CertificatePair, parsePair } from '../../src/identity/pair-file.ts'
import type { ExtendedKeyUsage } from '../../src/identity/usages.ts'
import { configMaps, KubeClient, loadKubeconfig, serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { startInOrder } from '../../src/process/part-group.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { removeFolder } from '../remove-folder.ts'
import { resigned } from '../worlds/forged-tokens.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { ask, bearer } from './endpoint-asking.ts'

export const NODE = 'edge-1'
const hourMs = 3_600_000
const logger = pino({ level: 'silent' })

/** Who connects: with which certificate, and from which address of loopback. */
export type ClientOptions = ConnectionOptions & { readonly localAddress?: string }

export class AttackWorld {
  readonly admin: KubeClient
  readonly endpoint: Endpoint
  readonly upstream: PooledUpstream
  readonly registry: Registry
  readonly pki: Pki
  readonly nodePair: CertificatePair
  readonly #stop: () => Promise<void>
  readonly #sessions = new Set<ClientHttp2Session>()

  private constructor(
    parts: Pick<AttackWorld, 'admin' | 'endpoint' | 'upstream' | 'registry' | 'pki' | 'nodePair'>,
    stop: () => Promise<void>,
  ) {
    this.admin = parts.admin
    this.endpoint = parts.endpoint
    this.upstream = parts.upstream
    this.registry = parts.registry
    this.pki = parts.pki
    this.nodePair = parts.nodePair
    this.#stop = stop
  }

  static async start(options: Partial<EndpointOptions> = {}): Promise<AttackWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'causeway-attack-'))
    const api = ownApiServer(folder)
    const apiRunning = await api.start(neverEnding, raise)
    const pki = await loadPki(folder, { dnsNames: [], ipAddresses: [] }, systemClock)
    const admin = new KubeClient(await loadKubeconfig({ file: api.adminKubeconfig }))
    const nodePair = await issue(pki, nodeSubject(NODE), 'clientAuth')
    const registry = new Registry()
    const { endpoint, upstream } = await theEndpoint(new URL(api.url), pki, nodePair, { registry, ...options })
    const running: RunningPart = await startInOrder([upstream, endpoint], neverEnding, raise)
    return new AttackWorld({ admin, endpoint, upstream, registry, pki, nodePair }, async () => {
      await running.stop(AbortSignal.abort())
      await admin.close()
      await apiRunning.stop(AbortSignal.abort())
      removeFolder(folder)
    })
  }

  get port(): number {
    return this.endpoint.status.addresses[0]?.port ?? 0
  }

  issue(subject: DistinguishedName, usage: ExtendedKeyUsage = 'clientAuth'): Promise<CertificatePair> {
    return issue(this.pki, subject, usage)
  }

  /** The token of a service account of this name, which is made where it is missing. */
  async token(name: string, audiences: readonly string[] = []): Promise<string> {
    const accounts = this.admin.resource(serviceAccounts).in('default')
    await accounts.create({ metadata: { name } }).catch((error: { code?: number }) => {
      if (error.code !== 409) throw error
    })
    const { status } = await accounts.subresource(name, tokenRequests).create({ spec: { audiences: [...audiences] } })
    return status?.token ?? ''
  }

  /** A token whose owner may read everything but secrets. */
  async readerToken(name: string): Promise<string> {
    const token = await this.token(name)
    const group = 'rbac.authorization.k8s.io'
    const bindings = { group, version: 'v1', resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' } as const
    const binding = {
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    }
    await this.admin.resource({ ...bindings, namespaced: false }).create(binding)
    const session = this.http2()
    // Learnt by the API server a moment later; and the endpoint has seen the token accepted.
    while ((await ask(session, { ':path': '/api/v1/pods', ...bearer(token) })).status !== 200);
    session.close()
    return token
  }

  /** A ConfigMap that nearly fills what one object may have. */
  async makeLarge(name: string): Promise<void> {
    await this.admin
      .resource(configMaps)
      .in('default')
      .create({ metadata: { name }, data: { x: 'x'.repeat(900_000) } })
  }

  /** The same claims with the changes, signed with the cluster's own key. */
  async resigned(token: string, changes: object): Promise<string> {
    return await resigned(this.pki.serviceAccountKey, token, changes)
  }

  async raw(options: ClientOptions = {}): Promise<TLSSocket> {
    const ca = certificatePem(this.pki.ca.certificate)
    const socket = connectTls({ host: '127.0.0.1', port: this.port, ca, ...options })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    return socket
  }

  http2(options: ClientOptions = {}): ClientHttp2Session {
    const ca = certificatePem(this.pki.ca.certificate)
    const session = connectHttp2(`https://127.0.0.1:${this.port}`, { ca, ...options })
    session.on('error', () => {})
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    return session
  }

  /** All that comes back on a connection of HTTP/1.1 for these bytes, until it closes. */
  async say(bytes: string | Buffer, options: ClientOptions = {}): Promise<string> {
    const socket = await this.raw(options)
    let said = ''
    socket.on('data', (chunk) => {
      said += String(chunk)
    })
    socket.write(bytes)
    // Unlike `once`, whatever error it closes with: who still sends when the connection is closed hears a reset.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
    return said
  }

  /** What the metrics say, summed over all labels that match. */
  async metric(name: string, labels = ''): Promise<number> {
    const lines = (await this.registry.metrics()).split('\n')
    const values = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await this.#stop()
  }
}

const neverEnding = new AbortController().signal

function raise(cause: unknown): never {
  throw cause
}

function ownApiServer(dataDir: string): ApiServer {
  return new ApiServer({
    dataDir,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock: systemClock,
    logger,
    health: new HealthChecks(systemClock),
    registry: new Registry(),
    sharesStore: false,
    openStore: () => Promise.resolve(new MemoryStore(systemClock)),
  })
}

type Wishes = Partial<EndpointOptions> & Pick<EndpointOptions, 'registry'>

async function theEndpoint(api: URL, pki: Pki, nodePair: CertificatePair, wishes: Wishes) {
  const trust = [pki.ca.certificate]
  const serving = await issue(pki, nodeSubject(NODE), 'serverAuth')
  const { registry } = wishes
  const shared = { clock: systemClock, logger, registry }
  const upstream = new PooledUpstream({
    net: loudNet(),
    ...shared,
    open: async () => {
      const socket = connectTcp(Number(api.port), api.hostname)
      await once(socket, 'connect')
      return socket
    },
    serverName: 'kubernetes',
    trust: () => trust,
    nodePair: () => nodePair,
    rttMs: () => 1,
  })
  const filters = new ResponseFilters({
    endpoint: () => ({ address: '169.254.30.10', port: 10550 }),
    hubNamespace: 'causeway-system',
    settings: { disabled: [] },
    metrics: createFilterMetrics(registry),
    clock: systemClock,
    logger,
  })
  const reviews = new TokenReviews({ upstream, clock: systemClock, signal: new AbortController().signal })
  const endpoint = new Endpoint({
    net: loudNet(),
    ...shared,
    node: NODE,
    addresses: ['127.0.0.1'],
    port: 0,
    certificate: () => serving,
    nodeCertificate: () => nodePair.chain[0],
    kubernetesCas: () => trust,
    upstream,
    filters,
    identify: (token, hash) => reviews.userOf(token, hash),
    ...wishes,
  })
  return { endpoint, upstream }
}

async function issue({ ca }: Pki, subject: DistinguishedName, usage: ExtendedKeyUsage): Promise<CertificatePair> {
  const { privateKey, publicKey } = await generateKeys()
  const names = usage === 'serverAuth' ? { dnsNames: ['kubernetes'], ipAddresses: ['127.0.0.1'] } : {}
  const template = { subject, names, extendedKeyUsages: [usage], ...validityFromNow(systemClock, hourMs) }
  const certificate = await issueCertificate(ca, template, publicKey)
  return parsePair(certificatePem(certificate), privateKeyPem(privateKey), { certificate: 'x.crt', key: 'x.key' })
}
