/**
 * A TLS port of the hub. It bounds connections and handshakes, finds the cluster a client came for, and hands the decrypted
 * connection to what the client asked to speak. Client certificates are asked for and never judged here: peer-check.ts does.
 */

import { createServer as createPort, type Server as Port, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { presentedCertificates } from '../../identity/peer.ts'
import { formatAddress, type ListenAddress, listen } from '../../network/listen.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import { SESSION_PROTOCOL } from '../../protocol/versions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import type {
  ChooseDoor,
  ClusterDoor,
  ConnectionHandler,
  HubConnection,
  OpenConnection,
  ServerIdentity,
} from './connection.ts'
import type { ConnectionLimits, Ticket } from './connection-limits.ts'
import { refusalResponse } from './http-message.ts'
import { sendBare } from './http1.ts'
import type { ServingMetrics } from './metrics.ts'
import { sourceOf } from './source-address.ts'
import { contextOptions, TlsContexts, trustMark } from './tls-context.ts'

/** Enough for the slowest radio link; whoever takes longer only holds a place. */
export const HANDSHAKE_TIMEOUT_MS = 10_000

export interface HubListenerOptions {
  /** Of the part, for logs: a hub may have several ports. */
  readonly name: string
  readonly address: ListenAddress
  readonly choose: ChooseDoor
  readonly http: ConnectionHandler
  /** Absent: the port does not offer the protocol. */
  readonly tunnel?: ConnectionHandler
  /** Shared by all ports of a hub. */
  readonly limits: ConnectionLimits
  readonly metrics: ServingMetrics
  readonly logger: Logger
  readonly net: SafetyNet
  readonly handshakeTimeoutMs?: number
  /** What clients see that named no server and get no door; without it they see the handshake fail. */
  readonly nobody?: ServerIdentity
}

export class HubListener implements Part {
  readonly name: string
  readonly #options: HubListenerOptions
  readonly #contexts = new TlsContexts()
  readonly #tls: TlsServer
  /** By the four numbers that name a connection: the TLS server does not say which socket its own came from. */
  readonly #tickets = new Map<string, Ticket>()
  readonly #sockets = new Set<Socket>()
  readonly #open = new Map<TLSSocket, OpenConnection>()
  #unnamedMark = ''
  #boundAddress: ListenAddress | undefined

  constructor(options: HubListenerOptions) {
    this.name = options.name
    this.#options = options
    this.#tls = this.#createTlsServer()
  }

  /** The address really bound; it differs from the one asked for when that had port 0 or a name. */
  get boundAddress(): ListenAddress {
    if (this.#boundAddress === undefined) throw new Error(`${this.name} has not been started`)
    return this.#boundAddress
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    signal.throwIfAborted()
    const port = createPort({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
    this.#options.net.watchServer(port)
    this.#boundAddress = await listen(port, this.#options.address)
    port.on('error', fail)
    this.#options.logger.info({ address: formatAddress(this.#boundAddress) }, 'listening')
    return { stop: (deadline) => this.#stop(port, deadline) }
  }

  #createTlsServer(): TlsServer {
    const { tunnel, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = this.#options
    const server = createTlsServer({
      ...contextOptions(undefined, this.#options.nobody),
      requestCert: true,
      // Every certificate is let in as far as our own checks, which say what is wrong with it.
      rejectUnauthorized: false,
      handshakeTimeout: handshakeTimeoutMs,
      ALPNProtocols: [...(tunnel === undefined ? [] : [SESSION_PROTOCOL]), 'http/1.1', 'h2'],
      SNICallback: (serverName, done) => this.#contextFor(serverName, done),
    })
    this.#options.net.watchServer(server)
    server.on('secureConnection', (socket: TLSSocket) => this.#adopt(socket))
    server.on('tlsClientError', (error, socket) => {
      // After a timeout Node leaves this to us.
      socket.destroy()
      this.#options.metrics.tlsErrors.inc()
      this.#options.logger.debug({ err: error }, 'tls handshake failed')
    })
    return server
  }

  #contextFor(serverName: string, done: (error: Error | null, context?: ReturnType<TlsContexts['for']>) => void): void {
    try {
      const door = this.#options.choose(serverName)
      if (door instanceof Refusal) done(door)
      else done(null, this.#contexts.for(door))
    } catch (error) {
      done(error as Error)
    }
  }

  #accept(socket: Socket): void {
    const { limits, metrics } = this.#options
    // One that is gone already has no address any more.
    const ticket = socket.remoteAddress === undefined ? 'gone' : limits.admit(sourceOf(socket.remoteAddress))
    if (typeof ticket === 'string') {
      if (ticket !== 'gone') metrics.connectionsRefused.inc({ limit: ticket })
      socket.destroy()
      return
    }
    const key = connectionKey(socket)
    this.#options.net.watch(socket, 'connection')
    this.#tickets.set(key, ticket)
    this.#sockets.add(socket)
    metrics.connections.set(limits.total)
    socket.once('close', () => {
      ticket.release()
      this.#sockets.delete(socket)
      // The same numbers may already name the connection after this one.
      if (this.#tickets.get(key) === ticket) this.#tickets.delete(key)
      metrics.connections.set(limits.total)
    })
    this.#refreshUnnamedContext()
    this.#tls.emit('connection', socket)
  }

  /** Clients that name no server get what the TLS server itself holds; this keeps it as new as that of all others. */
  #refreshUnnamedContext(): void {
    try {
      const choice = this.#options.choose(undefined)
      const door = choice instanceof Refusal ? undefined : choice
      const mark = door === undefined ? '' : `${door.serverIdentity().certificatePem}${trustMark(door)}`
      if (mark === this.#unnamedMark) return
      this.#unnamedMark = mark
      this.#tls.setSecureContext(contextOptions(door, this.#options.nobody))
    } catch (error) {
      this.#options.logger.error({ err: error }, 'cannot use the server certificate, keeping the one before')
    }
  }

  #adopt(socket: TLSSocket): void {
    this.#options.net.watch(socket, 'connection')
    // Whoever takes the socket over hears of its end; an error before that must not end the process.
    socket.on('error', (error) => this.#options.logger.debug({ err: error }, 'connection broke'))
    try {
      this.#handOver(socket)
    } catch (error) {
      this.#options.logger.error({ err: error }, 'cannot serve a connection')
      socket.destroy()
    }
  }

  #handOver(socket: TLSSocket): void {
    const { choose, http, tunnel } = this.#options
    const door = choose(serverNameOf(socket))
    const ticket = this.#tickets.get(connectionKey(socket))
    if (door instanceof Refusal) {
      sendBare(socket, refusalResponse(door))
      return
    }
    if (ticket === undefined) {
      socket.destroy()
      return
    }
    const handler = socket.alpnProtocol === SESSION_PROTOCOL && tunnel !== undefined ? tunnel : http
    this.#open.set(socket, handler(connectionOf(socket, door, ticket)))
    socket.once('close', () => this.#open.delete(socket))
  }

  /** Those in the middle of a handshake have nothing to lose; the others may finish what they began. */
  async #stop(port: Port, deadline: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => port.close(() => resolve()))
    const busy = new Set([...this.#open.keys()].map(connectionKey))
    for (const socket of this.#sockets) if (!busy.has(connectionKey(socket))) socket.destroy()
    for (const connection of this.#open.values()) connection.drain()
    const cut = (): void => {
      for (const socket of this.#open.keys()) socket.destroy()
      for (const socket of this.#sockets) socket.destroy()
    }
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await closed
    deadline.removeEventListener('abort', cut)
  }
}

/** Node says `false` where the client named no server. */
export function serverNameOf(socket: TLSSocket): string | undefined {
  const { servername } = socket as { readonly servername?: string | false }
  return servername === false || servername === '' ? undefined : servername
}

function connectionKey({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}

function connectionOf(socket: TLSSocket, door: ClusterDoor, ticket: Ticket): HubConnection {
  const address = socket.remoteAddress ?? ''
  const certificates = presentedCertificates(socket)
  const peer = { address, source: sourceOf(address), certificates, identified: () => ticket.identified() }
  return { socket, door, peer }
}
