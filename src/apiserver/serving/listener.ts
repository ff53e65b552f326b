/**
 * The TLS port: HTTP/2 and HTTP/1.1, told apart by ALPN. Client certificates are asked for and never judged here: which CA
 * means what is for the authenticators to decide.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { MAX_CHAIN_LENGTH } from '../../identity/verify.ts'
import type { Part, RunningPart } from '../../telemetry/lifecycle.ts'
import { type ListenAddress, listen } from '../../telemetry/listen.ts'
import type { Exchange, Peer } from './exchange.ts'
import { Http1Exchange } from './http1-exchange.ts'
import { Http2Exchange } from './http2-exchange.ts'

/** Room for long tokens and impersonation headers. */
export const MAX_REQUEST_HEADER_BYTES = 64 * 1024
/** What kube-apiserver allows; Go clients open another connection beyond it. */
export const MAX_STREAMS_PER_CONNECTION = 250
/** A client that cannot finish its handshake or its headers in this time never will. */
export const HANDSHAKE_TIMEOUT_MS = 10_000
/** Enough for the largest body without a stop; the default of 64 KiB makes large lists crawl. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** CAs whose names are sent to clients, so that they know which certificate to present. */
  readonly clientCas: readonly string[]
}

export interface ListenerOptions {
  readonly address: ListenAddress
  readonly tls: TlsFiles
  serve(exchange: Exchange): void
}

/** Node hands over the raw headers too; its types do not say so. */
type StreamEvent = [stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]]

/** What it hands over for HTTP/1 are the ordinary objects of `node:http`. */
type RequestEvent = [request: IncomingMessage, response: ServerResponse]

export class Listener implements Part {
  readonly name = 'listener'
  readonly #options: ListenerOptions
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #sockets = new Set<Socket>()
  #server: Http2SecureServer | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  get address(): ListenAddress {
    const bound = this.#server?.address() as AddressInfo | null | undefined
    return bound ? { host: bound.address, port: bound.port } : this.#options.address
  }

  async start(signal: AbortSignal): Promise<RunningPart> {
    const server = this.#create()
    this.#server = server
    signal.throwIfAborted()
    await listen(server, this.#options.address)
    return { stop: (deadline) => this.#stop(server, deadline) }
  }

  /** New connections get the new certificate; open ones keep theirs. */
  replaceCertificate({ cert, key, clientCas }: TlsFiles): void {
    this.#server?.setSecureContext({ cert, key, ca: [...clientCas] })
  }

  #create(): Http2SecureServer {
    const { cert, key, clientCas } = this.#options.tls
    const server = createSecureServer({
      cert,
      key,
      ca: [...clientCas],
      allowHTTP1: true,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.2',
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      maxHeaderSize: MAX_REQUEST_HEADER_BYTES,
      settings: { maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION, initialWindowSize: streamWindowBytes },
    } as Parameters<typeof createSecureServer>[0])
    server.on('session', (session) => this.#adoptSession(session))
    server.on('stream', (...[stream, headers, , rawHeaders]: StreamEvent) => {
      const peer = peerOf(stream.session?.socket as TLSSocket)
      this.#options.serve(new Http2Exchange(stream, headers, rawHeaders, peer))
    })
    server.on('request', (...[request, response]: RequestEvent) => {
      // HTTP/2 requests appear here too, in their imitation; their streams were taken above.
      if (request.httpVersionMajor === 2) return
      this.#options.serve(new Http1Exchange(request, response, peerOf(request.socket as TLSSocket)))
    })
    server.on('secureConnection', (socket: Socket) => {
      this.#sockets.add(socket)
      // A watch event that waits for more to fill its packet waits for the client's delayed acknowledgement: 40 ms.
      socket.setNoDelay(true)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // Scanners and clients with the wrong CA: their problem, and no reason to end.
    server.on('tlsClientError', () => {})
    server.on('sessionError', () => {})
    return server
  }

  #adoptSession(session: ServerHttp2Session): void {
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    session.setLocalWindowSize(connectionWindowBytes)
  }

  /** Asks clients to go elsewhere, waits for what is under way, and cuts the rest at the deadline. */
  async #stop(server: Http2SecureServer, deadline: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const session of this.#sessions) session.close()
    const cut = (): void => {
      for (const session of this.#sessions) session.destroy()
      for (const socket of this.#sockets) socket.destroy()
    }
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await closed
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

/** Not parsed by us yet: most clients present none, and one that presents garbage must not get further than a 401. */
function presentedCertificates(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = []
  let next = socket.getPeerX509Certificate()
  while (next !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    chain.push(next.raw)
    next = next.issuerCertificate
  }
  return chain
}
