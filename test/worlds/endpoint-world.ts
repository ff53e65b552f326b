/** An endpoint on loopback, with real TLS and HTTP, in front of an API server that each test makes up. */

import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { Readable } from 'node:stream'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { Endpoint, type EndpointOptions } from '../../src/edge/endpoint/endpoint.ts'
import { TokenReviews } from '../../src/edge/readers/token-review.ts'
import type {
  HeaderPairs,
  UpgradeAnswer,
  Upstream,
  UpstreamAnswer,
  UpstreamRequest,
} from '../../src/edge/upstream/upstream.ts'
import { type Certificate, certificatePem } from '../../src/identity/certificate.ts'
import { type DistinguishedName, userName } from '../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { type CertificatePair, parsePair } from '../../src/identity/pair-file.ts'
import type { ExtendedKeyUsage } from '../../src/identity/usages.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sourceOf } from './byte-sources.ts'
import { loudNet } from './loud-net.ts'

const hourMs = 3_600_000
export const NODE = 'edge-1'

export async function createCa(name: string): Promise<CertificateAuthority> {
  const { privateKey } = await generateKeys()
  return await issueSelfSignedCa(
    { subject: userName(name, []), ...validityFromNow(systemClock, 2 * hourMs) },
    privateKey,
  )
}

export async function issuePair(
  ca: CertificateAuthority,
  subject: DistinguishedName,
  usage: ExtendedKeyUsage,
  lifeMs = hourMs,
): Promise<CertificatePair> {
  const { privateKey, publicKey } = await generateKeys()
  const names = usage === 'serverAuth' ? { dnsNames: ['kubernetes'], ipAddresses: ['127.0.0.1'] } : {}
  const template = { subject, names, extendedKeyUsages: [usage], ...validityFromNow(systemClock, lifeMs) }
  const certificate = await issueCertificate(ca, template, publicKey)
  const paths = { certificate: 'x.crt', key: 'x.key' }
  return parsePair(certificatePem(certificate), privateKeyPem(privateKey), paths)
}

export function answer(
  status: number,
  headers: HeaderPairs,
  body: Readable | string,
  trailers: HeaderPairs = [],
): UpstreamAnswer {
  const stream = typeof body === 'string' ? Readable.from(body === '' ? [] : [Buffer.from(body)]) : body
  return { status, headers, body: sourceOf(stream), trailers: () => trailers }
}

/** Answers 200 with what was asked, unless a test says otherwise. */
export class FakeUpstream implements Upstream {
  readonly status = { pools: [], upgrades: 0 }
  readonly requests: UpstreamRequest[] = []
  handle: (request: UpstreamRequest) => Promise<UpstreamAnswer> | UpstreamAnswer = ({ target }) =>
    answer(200, [['content-type', 'application/json']], target)
  handleUpgrade: (request: UpstreamRequest) => Promise<UpstreamAnswer | UpgradeAnswer> = () =>
    Promise.reject(new Error('no upgrades here'))

  get last(): UpstreamRequest {
    const last = this.requests.at(-1)
    if (last === undefined) throw new Error('nothing was asked of the API server')
    return last
  }

  async request(request: UpstreamRequest): Promise<UpstreamAnswer> {
    this.requests.push(request)
    return await this.handle(request)
  }

  async upgrade(request: UpstreamRequest): Promise<UpstreamAnswer | UpgradeAnswer> {
    this.requests.push(request)
    return await this.handleUpgrade(request)
  }
}

export interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface EndpointWorld {
  readonly endpoint: Endpoint
  readonly upstream: FakeUpstream
  readonly registry: Registry
  readonly ca: CertificateAuthority
  readonly nodePair: CertificatePair
  readonly port: () => number
  readonly http1: (options: RequestOptions, body?: string) => Promise<Answered>
  readonly http2: (options?: ConnectionOptions) => ClientHttp2Session
  readonly raw: (options?: ConnectionOptions) => Promise<TLSSocket>
  serving: CertificatePair | undefined
  stop(): Promise<void>
  /** Stops, and waits as long as it takes. */
  drain(): Promise<void>
}

export async function startEndpoint(options: Partial<EndpointOptions> = {}): Promise<EndpointWorld> {
  const ca = await createCa('kubernetes')
  const upstream = new FakeUpstream()
  const registry = new Registry()
  const trust: readonly Certificate[] = [ca.certificate]
  const nodePair = await issuePair(ca, nodeSubject(NODE), 'clientAuth')
  let serving: CertificatePair | undefined = await issuePair(ca, nodeSubject(NODE), 'serverAuth')
  const reviews = new TokenReviews({ upstream, clock: systemClock, signal: new AbortController().signal })
  const endpoint = new Endpoint({
    net: loudNet(),
    node: NODE,
    addresses: ['127.0.0.1'],
    port: 0,
    certificate: () => serving,
    nodeCertificate: () => nodePair.chain[0],
    kubernetesCas: () => trust,
    upstream,
    filters: { choose: () => Promise.resolve(undefined) },
    identify: (token, hash) => reviews.userOf(token, hash),
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    registry,
    ...options,
  })
  const running: RunningPart = await endpoint.start(new AbortController().signal)
  const port = (): number => endpoint.status.addresses[0]?.port ?? 0
  const tls = { host: '127.0.0.1', ca: certificatePem(ca.certificate) }
  return {
    endpoint,
    upstream,
    registry,
    ca,
    nodePair,
    port,
    get serving() {
      return serving
    },
    set serving(pair) {
      serving = pair
    },
    http1: async (request, body) => await askHttp1({ ...tls, port: port(), ...request }, body),
    http2: (more = {}) => connectHttp2(`https://127.0.0.1:${port()}`, { ...tls, ...more }),
    raw: async (more = {}) => {
      const socket = connectTls({ ...tls, port: port(), ...more })
      await once(socket, 'secureConnect')
      return socket
    },
    stop: () => running.stop(AbortSignal.abort()),
    drain: () => running.stop(new AbortController().signal),
  }
}

async function askHttp1(options: RequestOptions, body = ''): Promise<Answered> {
  const request = httpsRequest({ agent: new Agent(), ...options })
  // Before the answer it is heard below; who still sends after it may find the connection closed.
  request.on('error', () => {})
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

export async function text(source: Readable): Promise<string> {
  let all = ''
  for await (const chunk of source) all += String(chunk)
  return all
}

export interface AnsweredHttp2 {
  readonly headers: OutgoingHttpHeaders
  readonly body: string
  readonly trailers: OutgoingHttpHeaders
}

/** One request without a body over an HTTP/2 session. */
export async function askHttp2(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<AnsweredHttp2> {
  const stream = session.request(headers)
  let trailers: OutgoingHttpHeaders = {}
  stream.once('trailers', (received) => {
    trailers = received
  })
  const [head] = (await once(stream, 'response')) as [OutgoingHttpHeaders]
  return { headers: head, body: await text(stream), trailers }
}

export function keys(pair: CertificatePair): { cert: string; key: string } {
  return { cert: pair.certificatePem, key: pair.keyPem }
}
