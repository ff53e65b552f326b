/** A hub's port as carriers meet it, with real TLS on loopback and certificates of its own; no sessions, no cluster. */
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createPort, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { peerCertificates } from '../../src/identity/peer.ts'
import { verifyCertificate } from '../../src/identity/verify.ts'
import { listen } from '../../src/network/listen.ts'
import { INNER_TLS_PROTOCOL } from '../../src/protocol/versions.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Carrier } from '../../src/tunnel/carrier.ts'
import { acceptInnerTls, acceptWebSocket, requestedProtocol } from '../../src/tunnel/carriers/accept-websocket.ts'
import type { DialHubOptions } from '../../src/tunnel/carriers/dial-hub.ts'
import { type InnerTlsOptions, serveInnerTls } from '../../src/tunnel/carriers/serve-inner-tls.ts'
import type { ClientIdentity, VerifyPeer } from '../../src/tunnel/carriers/tls-handshake.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import { DAY_MS, makeCa } from './edge-hub.ts'

export interface Accepted {
  readonly carrier: Carrier
  /** The common name in the certificate the edge has shown, over whatever TLS the session runs on. */
  readonly peer: string | undefined
  /** What the bytes of the carrier run on. */
  readonly socket: Duplex
}

/** What the hub does instead of its duty. */
export interface HubMood {
  /** ALPN names; a hub's own by default. */
  readonly protocols?: readonly string[]
  /** Cuts connections whose handshake offers this. */
  readonly cuts?: string
  /** Never answers the handshake of connections that offer this. */
  readonly swallows?: string
  /** Answers the request for a WebSocket itself. */
  readonly answer?: string
  /** How it ends a WebSocket in which an edge begins TLS. */
  readonly leavesInnerTls?: 'politely' | 'abruptly'
  /** Never answers the request for a WebSocket. */
  readonly isMute?: boolean
}

export interface Pems extends ClientIdentity {
  readonly ca: string
}

export async function issuePems(
  authority: CertificateAuthority,
  usage: 'serverAuth' | 'clientAuth',
  names: readonly string[],
): Promise<Pems> {
  const { publicKey, privateKey } = await generateKeys()
  const ipAddresses = names.filter((name) => /^[\d.]+$/.test(name))
  const template = {
    subject: usage === 'serverAuth' ? userName('hub') : nodeSubject(names[0] ?? ''),
    ...(usage === 'serverAuth' && {
      names: { dnsNames: names.filter((name) => !ipAddresses.includes(name)), ipAddresses },
    }),
    extendedKeyUsages: [usage],
    ...validityFromNow(systemClock, DAY_MS),
  }
  const certificate = await issueCertificate(authority, template, publicKey)
  return {
    cert: certificatePem(certificate),
    key: privateKeyPem(privateKey),
    ca: certificatePem(authority.certificate),
  }
}

/** As an edge does: the pinned CA decides, and says why. */
export function pinned(authority: CertificateAuthority, host: string): VerifyPeer {
  return (socket) => {
    const peer = peerCertificates(socket)
    if (peer === undefined) return new Error('no certificate')
    const { certificate, intermediates } = peer
    const options = { trust: [authority.certificate], intermediates, atMs: systemClock.nowMs(), host } as const
    const verdict = verifyCertificate(certificate, { ...options, usage: 'serverAuth' })
    if (verdict.ok) return undefined
    const code = verdict.reason === 'untrusted' ? 'hub-untrusted' : 'tls'
    return Object.assign(new Error(verdict.message), { code })
  }
}

export class CarrierHub {
  readonly authority: CertificateAuthority
  readonly edge: Pems
  readonly #mood: HubMood
  readonly #accepted: Accepted[] = []
  readonly #sockets = new Set<Socket>()
  readonly #tls: TlsServer
  readonly #context: SecureContext
  readonly #http = createHttpServer()
  #onAccepted: () => void = () => {}
  #port: Server | undefined
  port = 0
  /** `ALPN name`, for the WebSocket with its subprotocol, of every connection that came through its handshake. */
  readonly log: string[] = []
  /** Resolves when somebody waits in vain for an answer. */
  readonly silence: Promise<void>
  #keepSilent: () => void = () => {}

  private constructor(authority: CertificateAuthority, edge: Pems, server: Pems, mood: HubMood) {
    this.authority = authority
    this.edge = edge
    this.#mood = mood
    this.silence = new Promise((resolve) => {
      this.#keepSilent = resolve
    })
    const options: TlsOptions = { ...server, requestCert: true, rejectUnauthorized: false }
    const protocols = [...(mood.protocols ?? ['causeway/1', 'http/1.1', 'h2'])]
    this.#tls = createTlsServer({ ...options, ALPNProtocols: protocols }, (socket) => this.#onSecure(socket))
    this.#context = createSecureContext(server)
    this.#http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    )
    this.#tls.on('tlsClientError', () => {})
  }

  static async start(mood: HubMood = {}, names: readonly string[] = ['127.0.0.1', 'hub.example']): Promise<CarrierHub> {
    const authority = await makeCa(systemClock)
    const [edge, server] = await Promise.all([
      issuePems(authority, 'clientAuth', ['edge-1']),
      issuePems(authority, 'serverAuth', names),
    ])
    const hub = new CarrierHub(authority, edge, server, mood)
    hub.#port = createPort((socket) => hub.#onConnection(socket))
    hub.port = (await listen(hub.#port, { host: '127.0.0.1', port: 0 })).port
    return hub
  }

  /** What an edge needs to reach this hub. */
  options(
    host = '127.0.0.1',
    port = this.port,
  ): Pick<DialHubOptions, 'url' | 'tls' | 'verifyPeer' | 'clock' | 'signal'> {
    return {
      url: new URL(`https://${host}:${port}`),
      tls: () => this.edge,
      verifyPeer: pinned(this.authority, host),
      clock: systemClock,
      signal: new AbortController().signal,
    }
  }

  async accepted(): Promise<Accepted> {
    while (this.#accepted.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onAccepted = resolve
      })
    }
    return this.#accepted.shift() as Accepted
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#port?.close(resolve))
  }

  #onConnection(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket))
    const { cuts, swallows } = this.#mood
    if (cuts === undefined && swallows === undefined) {
      this.#tls.emit('connection', socket)
      return
    }
    socket.once('data', (hello: Buffer) => {
      if (cuts !== undefined && hello.includes(cuts)) socket.resetAndDestroy()
      else if (swallows === undefined || !hello.includes(swallows)) {
        socket.pause().unshift(hello)
        this.#tls.emit('connection', socket)
      } else this.#keepSilent()
    })
  }

  #onSecure(socket: TLSSocket): void {
    socket.on('error', () => {})
    if (socket.alpnProtocol === 'causeway/1') {
      this.log.push('causeway/1')
      this.#onSession(socket)
    } else {
      this.#http.emit('connection', socket)
    }
  }

  #onSession(socket: TLSSocket): void {
    this.#push({ carrier: new SocketCarrier(socket, 'far end'), peer: commonNameOf(socket), socket })
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { answer, isMute = false } = this.#mood
    this.log.push(`${request.url} ${request.headers['sec-websocket-protocol']}`)
    if (answer !== undefined) socket.end(answer)
    else if (isMute) this.#keepSilent()
    if (answer !== undefined || isMute) return
    if (requestedProtocol(request) === INNER_TLS_PROTOCOL) {
      void this.#serveInner(acceptInnerTls(request, socket, head, systemClock))
      return
    }
    const carrier = acceptWebSocket(request, socket, head, systemClock)
    this.#push({ carrier, peer: commonNameOf(socket as TLSSocket), socket })
  }

  async #serveInner(stream: Duplex): Promise<void> {
    const secureContext = this.#context
    const { leavesInnerTls } = this.#mood
    if (leavesInnerTls === 'politely') stream.end()
    else if (leavesInnerTls === 'abruptly') stream.destroy()
    const SNICallback: InnerTlsOptions['SNICallback'] = (_name, done) => done(null, secureContext)
    const options = { secureContext, SNICallback, clock: systemClock, limitMs: 60_000 }
    const socket = await serveInnerTls(stream, options).catch((error: Error) => error)
    if (socket instanceof Error) this.log.push(socket.message)
    else this.#onSession(socket)
  }

  #push(accepted: Accepted): void {
    this.#accepted.push(accepted)
    this.#onAccepted()
  }
}

function commonNameOf(socket: TLSSocket): string | undefined {
  return socket.getPeerX509Certificate()?.subject?.match(/CN=(.*)/)?.[1]
}
