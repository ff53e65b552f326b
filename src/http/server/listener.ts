/**
 * The TLS port: HTTP/2 and HTTP/1.1, told apart by ALPN. Client certificates are asked for and never judged here: which CA
 * means what is for the authenticators to decide.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { presentedCertificates } from '../../identity/peer.ts'
import { closeListening, type ListenAddress, listen } from '../../network/listen.ts'
import { TLS_CONTEXT } from '../../network/tls/context-options.ts'
import { secureAsServer } from '../../network/tls/server-tls.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { limitAddresses } from './address-limit.ts'
import type { Peer, StreamingExchange, UpgradeExchange } from './exchange.ts'
import { Http1Exchange, type Http1ExchangeOptions } from './http1-exchange.ts'
import { Http1Upgrade } from './http1-upgrade.ts'
import { Http2Connection } from './http2-connection.ts'
import {
  BODY_TIMEOUT_MS,
  CONNECTION_CHECK_MS,
  HANDSHAKE_TIMEOUT_MS,
  HEADERS_TIMEOUT_MS,
  IDLE_CONNECTION_MS,
  MAX_CONNECTIONS,
  MAX_REQUEST_HEADER_BYTES,
  MAX_REQUEST_HEADERS,
  TCP_KEEPALIVE_MS,
} from './limits.ts'
import { parseInTurns } from './parsed-in-turns.ts'
import { ServingOrder } from './serving-order.ts'
import { type UnsentAccount, UnsentAnswers } from './unsent-answers.ts'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** CAs whose names are sent to clients, so that they know which certificate to present. */
  readonly clientCas: readonly string[]
}

export interface ListenerOptions {
  readonly address: ListenAddress
  readonly tls: TlsFiles
  readonly clock: Clock
  /** Catches what serving throws; its offender loses the stream or the connection. */
  readonly net: SafetyNet
  /** Fewer than the default, for tests. */
  readonly maxConnections?: number
  /** Where clients do not share addresses: how many of the connections one address may have. */
  readonly maxConnectionsPerAddress?: number
  /** How often clients of HTTP/2 with open streams are asked for a sign of life; other than the default. */
  readonly pingMs?: number
  /** HTTP/1.1: other than the default; 0 for whoever passes bodies on and sees by itself that they make progress. */
  readonly bodyTimeoutMs?: number
  /** A connection that ended before its handshake did. */
  readonly handshakeFailed: (error: Error) => void
  /** A connection that was closed at once, because too many were open. */
  readonly connectionRefused: () => void
  /** A connection, or streams of one, were cut because their client does not read what it has asked for. */
  readonly readerStalled: (unsentBytes: number) => void
  /** Bytes of all answers that wait for their clients; fewer than the default, for tests. */
  readonly maxUnsentBytes?: number
  serve(exchange: StreamingExchange): void | Promise<void>
  /** Absent: a request to switch protocols is served like any other. */
  readonly upgrade?: (exchange: UpgradeExchange) => void | Promise<void>
}

type RequestEvent = [request: IncomingMessage, response: ServerResponse]
type UpgradeEvent = [request: IncomingMessage, socket: TLSSocket, head: Buffer]

export class Listener implements Part {
  readonly name = 'listener'
  readonly #options: ListenerOptions
  /** Connections that are not secured yet. */
  readonly #handshakes = new Set<Socket>()
  readonly #http2 = new Map<Socket, Http2Connection>()
  readonly #sockets = new Set<Socket>()
  /** HTTP/1.1: the last answer of each connection. */
  readonly #answers = new WeakMap<Socket, ServerResponse>()
  readonly #upgraded = new WeakSet<Socket>()
  readonly #order: ServingOrder
  readonly #unsent: UnsentAnswers
  readonly #accounts = new WeakMap<Socket, UnsentAccount>()
  #isStopping = false
  #server: Server | undefined
  #context: SecureContext | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    const { clock, readerStalled: stalled, maxUnsentBytes: maxBytes } = options
    this.#order = new ServingOrder(clock)
    this.#unsent = new UnsentAnswers({ clock, stalled, maxBytes })
  }

  get address(): ListenAddress {
    const bound = this.#server?.address() as AddressInfo | null | undefined
    return bound ? { host: bound.address, port: bound.port } : this.#options.address
  }

  get connections(): number {
    return this.#sockets.size
  }

  async start(signal: AbortSignal): Promise<RunningPart> {
    const server = this.#create()
    this.#server = server
    signal.throwIfAborted()
    await listen(server, this.#options.address)
    return { stop: (deadline) => this.#stop(server, deadline) }
  }

  /** New connections get the new certificate; open ones keep theirs. */
  replaceCertificate(files: TlsFiles): void {
    if (this.#context !== undefined) this.#context = contextOf(files)
  }

  #create(): Server {
    this.#context = contextOf(this.#options.tls)
    const requestTimeout = this.#options.bodyTimeoutMs ?? BODY_TIMEOUT_MS
    const server = createServer({ ...http1Limits, requestTimeout })
    this.#options.net.watchServer(server)
    // Node leaves out the headers beyond this number, without a word: one more shows that there were too many.
    server.maxHeadersCount = MAX_REQUEST_HEADERS + 1
    server.maxConnections = this.#options.maxConnections ?? MAX_CONNECTIONS
    // What Node would do with every connection, for those of HTTP/1.1 once they are secured.
    const serveHttp1 = server.listeners('connection') as ((this: Server, socket: TLSSocket) => void)[]
    server.removeAllListeners('connection')
    const { maxConnectionsPerAddress, connectionRefused } = this.#options
    if (maxConnectionsPerAddress !== undefined) limitAddresses(server, maxConnectionsPerAddress, connectionRefused)
    server.on('connection', (raw: Socket) => {
      if (raw.destroyed) return
      this.#secure(raw, (socket) => {
        for (const serve of serveHttp1) serve.call(server, socket)
        parseInTurns(socket)
      })
    })
    server.on('drop', () => connectionRefused())
    this.#serveOn(server)
    return server
  }

  #secure(raw: Socket, serveHttp1: (socket: TLSSocket) => void): void {
    const { net, clock, handshakeFailed } = this.#options
    net.watch(raw, 'connection')
    // Only HTTP/1.1 has use for one direction without the other, and Node's server has it end with the first.
    raw.allowHalfOpen = false
    this.#handshakes.add(raw)
    const secured = secureAsServer(raw, {
      clock,
      limitMs: HANDSHAKE_TIMEOUT_MS,
      secureContext: () => this.#context as SecureContext,
      protocols: ['h2', 'http/1.1'],
    })
    const adopt = (socket: TLSSocket): void =>
      net.guard('connection', () => void socket.destroy())(() => this.#adopt(socket, serveHttp1))
    secured.finally(() => this.#handshakes.delete(raw)).then(adopt, handshakeFailed)
  }

  #serveOn(server: Server): void {
    server.on('request', (...[request, response]: RequestEvent) => {
      this.#answers.set(request.socket, response)
      if (this.#isStopping) this.#closeAfterAnswer(request.socket)
      if (hasTooManyHeaders(request)) refuseHeaders(response)
      else this.#serve(request, response)
    })
    this.#upgradeOn(server)
  }

  /** A connection of HTTP/1.1 carries one answer after the other: with a broken one it is of no use any more. */
  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { net, clock } = this.#options
    const cut = (): void => void request.socket.destroy()
    net.watch(request, 'request', cut)
    net.watch(response, 'request', cut)
    const guard = net.guard('request', cut)
    const unsent = this.#accountOf(request.socket)
    const peer = peerOf(request.socket as TLSSocket)
    const exchange = new Http1Exchange(request, response, { peer, clock, guard, unsent })
    unsent.whenRoom(() => {
      if (!exchange.ending.aborted) guard(() => this.#options.serve(exchange))
    })
  }

  #accountOf(socket: Socket): UnsentAccount {
    let account = this.#accounts.get(socket)
    if (account === undefined) {
      const guard = this.#options.net.guard('connection', () => socket.destroy())
      account = this.#unsent.open(this.#order.openLane(guard), {
        cut: () => this.#cutUnread(socket),
        cutStalled: (nowMs) => this.#http2.get(socket)?.cutStalled(nowMs) ?? 0,
      })
      this.#accounts.set(socket, account)
    }
    return account
  }

  #cutUnread(socket: Socket): void {
    const connection = this.#http2.get(socket)
    if (connection === undefined) socket.destroy()
    else connection.cutUnread()
  }

  #adopt(socket: TLSSocket, serveHttp1: (socket: TLSSocket) => void): void {
    if (socket.destroyed) return
    this.#options.net.watch(socket, 'connection')
    this.#sockets.add(socket)
    // A watch event that waits for more to fill its packet waits for the client's delayed acknowledgement: 40 ms.
    socket.setNoDelay(true)
    // HTTP/2 has its pings; upgraded connections and watches of HTTP/1.1 have nothing else.
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    const account = this.#accountOf(socket)
    socket.once('close', () => account.close())
    socket.once('close', () => this.#sockets.delete(socket))
    if (socket.alpnProtocol === 'h2') this.#adoptHttp2(socket)
    else serveHttp1(socket)
  }

  #adoptHttp2(socket: TLSSocket): void {
    const { pingMs } = this.#options
    const unsent = this.#accountOf(socket)
    const connection = new Http2Connection(socket, { ...this.#options, pingMs, peer: peerOf(socket), unsent })
    this.#http2.set(socket, connection)
    socket.once('close', () => this.#http2.delete(socket))
    if (this.#isStopping) connection.close()
  }

  #upgradeOn(server: Server): void {
    const { upgrade, net } = this.#options
    if (upgrade === undefined) return
    server.on('upgrade', (...[request, socket, head]: UpgradeEvent) => {
      this.#upgraded.add(socket)
      const guard = net.guard('request', () => void socket.destroy())
      const options = { clock: this.#options.clock, guard, unsent: this.#accountOf(socket) }
      const exchange = hasTooManyHeaders(request) ? undefined : upgradeOf([request, socket, head], options)
      if (exchange === undefined) socket.destroy()
      else guard(() => upgrade(exchange))
    })
  }

  /** Asks clients to go elsewhere, waits for what is under way, and cuts the rest at the deadline. */
  async #stop(server: Server, deadline: AbortSignal): Promise<void> {
    const closed = closeListening(server)
    this.#isStopping = true
    for (const connection of this.#http2.values()) connection.close()
    for (const socket of this.#sockets) this.#closeAfterAnswer(socket)
    // They have nothing to lose.
    for (const raw of this.#handshakes) raw.destroy()
    const cut = (): void => {
      for (const socket of this.#sockets) socket.destroy()
    }
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await closed
  }

  /** HTTP/1.1: clients keep their connections for the next request, and what was upgraded ends with its two ends. */
  #closeAfterAnswer(socket: Socket): void {
    if (this.#http2.has(socket) || this.#upgraded.has(socket)) return
    const answer = this.#answers.get(socket)
    if (answer?.writableFinished === false) answer.once('finish', () => socket.destroySoon())
    else socket.destroySoon()
  }
}

function contextOf({ cert, key, clientCas }: TlsFiles): SecureContext {
  return createSecureContext({ ...TLS_CONTEXT, cert, key, ca: [...clientCas] })
}

const http1Limits = {
  // Whoever serves the request judges its host, as with HTTP/2.
  requireHostHeader: false,
  maxHeaderSize: MAX_REQUEST_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  keepAliveTimeout: IDLE_CONNECTION_MS,
  connectionsCheckingInterval: CONNECTION_CHECK_MS,
}

function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length > MAX_REQUEST_HEADERS * 2
}

function refuseHeaders(response: ServerResponse): void {
  response.writeHead(431, { connection: 'close', 'content-type': 'text/plain; charset=utf-8' })
  response.end(`more than ${MAX_REQUEST_HEADERS} headers\n`)
}

/** Undefined behind a request that is still to be answered: that one has the connection, and Node throws. No client asks so. */
function upgradeOf(
  [request, socket, head]: UpgradeEvent,
  options: Omit<Http1ExchangeOptions, 'peer'>,
): Http1Upgrade | undefined {
  try {
    return new Http1Upgrade(request, socket, head, { peer: peerOf(socket), ...options })
  } catch {
    return undefined
  }
}

const peers = new WeakMap<TLSSocket, Peer>()

/** Worked out once per connection: reading certificates is slow. */
function peerOf(socket: TLSSocket): Peer {
  let peer = peers.get(socket)
  if (peer === undefined) {
    peer = { address: socket.remoteAddress ?? '', certificates: presentedCertificates(socket) }
    peers.set(socket, peer)
  }
  return peer
}
