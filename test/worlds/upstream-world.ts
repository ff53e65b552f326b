/**
 * An API server in one process, for the tests of what reaches one: TLS over streams in memory, HTTP/2 and HTTP/1.1, asking
 * for client certificates. Time is the test's; every connection can be cut or frozen by hand.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { PooledUpstream, type PooledUpstreamOptions } from '../../src/edge/upstream/pooled-upstream.ts'
import type { UpstreamRequest } from '../../src/edge/upstream/upstream.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import type { ClientPair } from '../../src/network/tls/client-tls.ts'
import { type Clock, ManualClock } from '../../src/runtime/clock.ts'
import { DAY_MS, makeCa } from './edge-hub.ts'
import { loudNet } from './loud-net.ts'

export interface UpstreamCall {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn. */
  readonly raw: readonly string[]
  /** The common name in the certificate of the connection; absent without one. */
  readonly user: string | undefined
  readonly session: ServerHttp2Session
}

/**
 * One end of a stream in memory. What is written arrives in a later turn, and is taken whether it is read or not, as by the
 * buffers of a socket: the HTTP/2 of Node ends the process when bytes arrive while it is still writing, and reads nothing as
 * long as a write is not done, so that two of them would wait for each other.
 */
class LaterHalf extends Duplex {
  peer: LaterHalf | undefined
  /** Nothing arrives here any more, and nobody says so. */
  isFrozen = false

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    setImmediate(() => {
      const { peer } = this
      if (peer !== undefined && !peer.destroyed && !peer.isFrozen) peer.push(chunk)
      done()
    })
  }

  override _final(done: () => void): void {
    setImmediate(() => {
      this.peer?.push(null)
      done()
    })
  }
}

type Handle = (call: UpstreamCall) => void

export async function issuePair(
  clock: Clock,
  ca: CertificateAuthority,
  name: string,
  hosts: readonly string[] = [],
): Promise<ClientPair> {
  const keys = await generateKeys()
  const template = {
    subject: userName(name),
    ...validityFromNow(clock, 30 * DAY_MS),
    extendedKeyUsages: ['serverAuth', 'clientAuth'] as const,
    ...(hosts.length === 0 ? {} : { names: { dnsNames: hosts } }),
  }
  const certificate = await issueCertificate(ca, template, keys.publicKey)
  return { certificatePem: certificatePem(certificate), keyPem: privateKeyPem(keys.privateKey) }
}

export class UpstreamWorld {
  readonly clock = new ManualClock()
  readonly ca: CertificateAuthority
  nodePair: ClientPair | undefined
  /** Answers HTTP/2 requests. */
  handle: Handle = ({ stream }) => {
    stream.respond({ ':status': 200 })
    stream.end('ok')
  }
  /** Takes the place of a stream to the API server. */
  open: (signal: AbortSignal) => Promise<Duplex> = async () => this.join()
  /** The client's ends of all connections, in order. */
  readonly streams: LaterHalf[] = []
  readonly sessions: ServerHttp2Session[] = []
  /** The server's ends of all connections whose handshake is over, in order. */
  readonly sockets: TLSSocket[] = []
  readonly server: Http2SecureServer
  readonly #upstreams: PooledUpstream[] = []

  private constructor(ca: CertificateAuthority, pair: ClientPair, maxConcurrentStreams: number) {
    this.ca = ca
    this.server = createSecureServer({
      cert: pair.certificatePem,
      key: pair.keyPem,
      allowHTTP1: true,
      requestCert: true,
      rejectUnauthorized: false,
      settings: { maxConcurrentStreams },
    })
    this.server.on('session', (session) => this.sessions.push(session))
    this.server.on('secureConnection', (socket) => this.sockets.push(socket))
    this.server.on('sessionError', () => {})
    this.server.on('tlsClientError', () => {})
    this.server.on('stream', (stream, headers, _flags, ...rest) => {
      stream.on('error', () => {})
      const session = stream.session as ServerHttp2Session | undefined
      if (session === undefined) return
      const subject = (session.socket as TLSSocket).getPeerCertificate().subject as { CN?: string } | undefined
      const [raw] = rest as unknown as [string[]]
      this.handle({ stream, headers, raw, session, user: subject?.CN })
    })
  }

  static async start(maxConcurrentStreams = 100): Promise<UpstreamWorld> {
    const clock = new ManualClock()
    const ca = await makeCa(clock, 'kubernetes')
    const pair = await issuePair(clock, ca, 'kube-apiserver', ['api.example'])
    const world = new UpstreamWorld(ca, pair, maxConcurrentStreams)
    world.nodePair = await issuePair(clock, ca, 'system:node:edge-1')
    return world
  }

  upstream(options: Partial<PooledUpstreamOptions> = {}): PooledUpstream {
    const upstream = new PooledUpstream({
      net: loudNet(),
      open: (signal) => this.open(signal),
      serverName: 'api.example',
      trust: () => [this.ca.certificate],
      clock: this.clock,
      nodePair: () => this.nodePair,
      rttMs: () => 20,
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      ...options,
    })
    this.#upstreams.push(upstream)
    return upstream
  }

  /** A connection to the server; what ends on one side ends on the other. */
  join(): Duplex {
    const [near, far] = [new LaterHalf(), new LaterHalf()]
    near.peer = far
    far.peer = near
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
    far.on('error', () => {})
    this.streams.push(near)
    this.server.emit('connection', far)
    return near
  }

  async stop(): Promise<void> {
    for (const upstream of this.#upstreams) await (await upstream.start()).stop(AbortSignal.abort())
    for (const stream of this.streams) stream.destroy()
  }
}

export function upstreamRequest(request: Partial<UpstreamRequest> = {}): UpstreamRequest {
  const signal = new AbortController().signal
  return { pool: 'token', method: 'GET', target: '/', headers: [], body: undefined, signal, ...request }
}
