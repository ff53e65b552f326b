/** A hub's port on loopback before a cluster in memory, and clients that come to it over real TLS. */
import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { Registry } from 'prom-client'
import { onTestFinished, vi } from 'vitest'
import { Attempts } from '../../src/hub/join/attempts.ts'
import { CA_ROUTES } from '../../src/hub/join/ca-routes.ts'
import { edgeCertificateRoute } from '../../src/hub/join/edge-certificate.ts'
import { NODE_CERTIFICATE_GRACE_MS, NODE_CERTIFICATE_LIFE_MS } from '../../src/hub/join/issue-node-certificate.ts'
import { createJoinMetrics } from '../../src/hub/join/metrics.ts'
import { nodeRoute } from '../../src/hub/join/node-route.ts'
import type { ChooseDoor, ClusterDoor, ConnectionHandler, ServerIdentity } from '../../src/hub/port/connection.ts'
import { ConnectionLimits } from '../../src/hub/port/connection-limits.ts'
import { HttpRoutes, type Route } from '../../src/hub/port/http-routes.ts'
import { createHttpService } from '../../src/hub/port/http-service.ts'
import type { UpgradeRoute } from '../../src/hub/port/http-settings.ts'
import { HubListener } from '../../src/hub/port/hub-listener.ts'
import { createServingMetrics } from '../../src/hub/port/metrics.ts'
import { FailureLimiter, WorkGate } from '../../src/hub/port/overload.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { createRequest, type RequestTemplate } from '../../src/identity/csr.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  validityFromNow,
} from '../../src/identity/issue.ts'
import { generateKeys, type KeyPair, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import type { SafetyNet } from '../../src/process/safety-net.ts'
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'
import { componentLogger, createLogger, type Logger } from '../../src/telemetry/logger.ts'
import { FakeCluster, makeCa } from './fake-cluster.ts'
import { loudNet } from './loud-net.ts'

const hourMs = 60 * 60 * 1000
export const SERVER_NAME = 'hub.example'

export interface HubWorldOptions {
  /** Instead of one into which nothing may fall. */
  readonly net?: (logger: Logger, registry: Registry) => SafetyNet
  readonly failures?: ConstructorParameters<typeof FailureLimiter>[1]
  readonly gate?: WorkGate
  readonly limits?: ConnectionLimits
  readonly handshakeTimeoutMs?: number
  readonly routes?: readonly Route[]
  readonly upgrade?: UpgradeRoute
  readonly tunnel?: ConnectionHandler
  readonly choose?: (door: ClusterDoor) => ChooseDoor
}

/** Where a hub is, and how to recognise it. */
export interface HubAddress {
  readonly port: number
  readonly cluster: { readonly ca: CertificateAuthority }
}

export interface HubWorld extends HubAddress {
  readonly clock: ManualClock
  readonly cluster: FakeCluster
  readonly registry: Registry
  readonly running: RunningPart
  readonly gate: WorkGate
  /** Every line of the log so far. */
  readonly log: readonly Record<string, unknown>[]
  replaceServerIdentity(identity: ServerIdentity): void
}

/** Stopped by itself at the end of the test. */
export async function startHub(options: HubWorldOptions = {}): Promise<HubWorld> {
  const clock = new ManualClock(Date.now())
  const cluster = new FakeCluster(clock, await makeCa(clock))
  let identity = await serverIdentity(cluster.ca, clock)
  const door: ClusterDoor = { cluster, serverIdentity: () => identity }
  const log: Record<string, unknown>[] = []
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    clock,
    destination: { write: (line) => log.push(JSON.parse(line) as Record<string, unknown>) },
  })
  const registry = new Registry()
  const net = options.net?.(logger, registry) ?? loudNet()
  const gate = options.gate ?? new WorkGate()
  const metrics = createServingMetrics(registry)
  const attempts = new Attempts({
    failures: new FailureLimiter(clock, options.failures),
    metrics: createJoinMetrics(registry, gate),
    audit: componentLogger(logger, 'audit'),
    clock,
  })
  const lives = { lifeMs: NODE_CERTIFICATE_LIFE_MS, graceMs: NODE_CERTIFICATE_GRACE_MS }
  const edge = edgeCertificateRoute({ clock, attempts, gate, ...lives })
  const routes = [...CA_ROUTES, edge, nodeRoute({ clock, attempts }), ...(options.routes ?? [])]
  const { upgrade, tunnel, handshakeTimeoutMs } = options
  const listener = new HubListener({
    net,
    clock: systemClock,
    name: 'hub-listener',
    address: { host: '127.0.0.1', port: 0 },
    choose: options.choose?.(door) ?? (() => door),
    http: createHttpService({
      net,
      routes: new HttpRoutes({ routes, clock, metrics, logger }),
      clock,
      logger,
      ...(upgrade === undefined ? {} : { upgrade }),
    }),
    ...(tunnel === undefined ? {} : { tunnel }),
    ...(handshakeTimeoutMs === undefined ? {} : { handshakeTimeoutMs }),
    limits: options.limits ?? new ConnectionLimits(),
    metrics,
    logger,
  })
  const running = await listener.start(new AbortController().signal, (cause) => {
    throw cause
  })
  onTestFinished(() => running.stop(AbortSignal.abort()))
  const { port } = listener.boundAddress
  const replaceServerIdentity = (replacement: ServerIdentity): void => {
    identity = replacement
  }
  return { clock, cluster, registry, running, port, gate, log, replaceServerIdentity }
}

export async function serverIdentity(ca: CertificateAuthority, clock: ManualClock): Promise<ServerIdentity> {
  const { privateKey, publicKey } = await generateKeys()
  const template: CertificateTemplate = {
    ...validityFromNow(clock, hourMs),
    subject: userName('hub'),
    names: { dnsNames: [SERVER_NAME], ipAddresses: ['127.0.0.1'] },
    extendedKeyUsages: ['serverAuth'],
  }
  const certificate = await issueCertificate(ca, template, publicKey)
  return { certificatePem: certificatePem(certificate), privateKeyPem: privateKeyPem(privateKey) }
}

/** What a client presents, in the words of `node:tls`. */
export interface Credential {
  readonly cert: string
  readonly key: string
}

/** A client certificate made without the hub, usually for an attack. */
export async function credentialFor(
  ca: CertificateAuthority,
  template: Partial<CertificateTemplate> & { readonly clock: ManualClock; readonly node?: string },
): Promise<Credential> {
  const { clock, node = 'edge-1', ...rest } = template
  const { privateKey, publicKey } = await generateKeys()
  const usual = { ...validityFromNow(clock, hourMs), subject: nodeSubject(node) }
  const certificate = await issueCertificate(ca, { ...usual, extendedKeyUsages: ['clientAuth'], ...rest }, publicKey)
  return { cert: certificatePem(certificate), key: privateKeyPem(privateKey) }
}

export async function signingRequest(
  node: string,
  template: Partial<RequestTemplate> = {},
): Promise<{ readonly pem: string; readonly keys: KeyPair }> {
  const keys = await generateKeys()
  return { pem: await createRequest({ subject: nodeSubject(node), ...template }, keys.privateKey), keys }
}

export interface ClientRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly credential?: Credential | undefined
  readonly http2?: boolean
}

export interface ClientResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export async function ask(world: HubAddress, request: ClientRequest): Promise<ClientResponse> {
  return await (request.http2 === true ? askHttp2(world, request) : askHttp1(world, request))
}

/** The code of a refusal, or `ok`. */
export function codeOf({ status, body }: ClientResponse): string {
  return status === 200 ? 'ok' : (JSON.parse(body) as { code: string }).code
}

export function tlsOptions(world: HubAddress, credential?: Credential): ConnectionOptions {
  const ca = certificatePem(world.cluster.ca.certificate)
  return { host: '127.0.0.1', port: world.port, servername: SERVER_NAME, ca, ...credential }
}

async function askHttp1(world: HubAddress, request: ClientRequest): Promise<ClientResponse> {
  const { method = 'GET', path, headers = {}, body, credential } = request
  return await new Promise((resolve, reject) => {
    const outgoing = httpsRequest({ ...tlsOptions(world, credential), agent: false, method, path, headers })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    outgoing.end(body)
  })
}

async function askHttp2(world: HubAddress, request: ClientRequest): Promise<ClientResponse> {
  const { method = 'GET', path, headers = {}, body, credential } = request
  const session = connectHttp2(`https://127.0.0.1:${world.port}`, tlsOptions(world, credential))
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    const [received] = (await once(stream, 'response')) as [Record<string, unknown>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const status = Number(received[constants.HTTP2_HEADER_STATUS])
    return { status, headers: received, body: Buffer.concat(chunks).toString() }
  } finally {
    session.destroy()
  }
}

/** A bare TLS connection, for what no HTTP client would do. */
export async function dial(world: HubWorld, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ ...tlsOptions(world), ...options })
  // Who waits for something on it is told; one that is cut while nobody does must not end the process.
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Waits until the check holds: for what happens on the other side of a socket, however busy the machine is. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 30_000, interval: 5 })
}

/** Joins by token; the whole answer. */
export async function join(world: HubAddress, jwt: string | undefined, pem: string | Buffer): Promise<ClientResponse> {
  const headers: Record<string, string> = jwt === undefined ? {} : { authorization: `Bearer ${jwt}` }
  return await ask(world, { method: 'POST', path: '/edge.crt', headers, body: pem })
}

/** A node that has joined by a token. */
export async function joined(world: HubWorld, node: string, jwt?: string): Promise<Credential> {
  const { pem, keys } = await signingRequest(node)
  const response = await join(world, jwt ?? (await world.cluster.mint()), pem)
  if (response.status !== 200) throw new Error(response.body)
  return { cert: response.body, key: privateKeyPem(keys.privateKey) }
}
