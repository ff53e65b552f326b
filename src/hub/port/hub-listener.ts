/**
 * A TLS port of the hub. It bounds connections and handshakes, finds the cluster a client came for, and hands the decrypted
 * connection to what the client asked to speak. Client certificates are asked for and never judged here: peer-check.ts does.
 */

import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { presentedCertificates } from '../../identity/peer.ts'
import { closeListening, formatAddress, type ListenAddress, listen } from '../../network/listen.ts'
import { secureAsServer } from '../../network/tls/server-tls.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import { SESSION_PROTOCOL } from '../../protocol/versions.ts'
import type { Clock } from '../../runtime/clock.ts'
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
  /** Name of the part, for logs: a hub may have several ports. */
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
  readonly clock: Clock
  readonly handshakeTimeoutMs?: number
  /** What clients see that named no server and get no door; without it they see the handshake fail. */
  readonly nobody?: ServerIdentity
}

export class HubListener implements Part {
  readonly name: string
  readonly #options: HubListenerOptions
  readonly #contexts = new TlsContexts()
  /** Connections that nobody serves: not yet, or not any more because they were refused. */
  readonly #unserved = new Set<Socket>()
  readonly #open = new Map<TLSSocket, OpenConnection>()
  #unnamed: { readonly mark: string; readonly context: SecureContext }
  #boundAddress: ListenAddress | undefined

  constructor(options: HubListenerOptions) {
    this.name = options.name
    this.#options = options
    this.#unnamed = { mark: '', context: createSecureContext(contextOptions(undefined, options.nobody)) }
  }

  /** The address really bound; it differs from the one asked for when that had port 0 or a name. */
  get boundAddress(): ListenAddress {
    if (this.#boundAddress === undefined) throw new Error(`${this.name} has not been started`)
    return this.#boundAddress
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    signal.throwIfAborted()
    const port = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
    this.#options.net.watchServer(port)
    this.#boundAddress = await listen(port, this.#options.address)
    port.on('error', fail)
    this.#options.logger.info({ address: formatAddress(this.#boundAddress) }, 'listening')
    return { stop: (deadline) => this.#stop(port, deadline) }
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

  #accept(raw: Socket): void {
    const { limits, metrics, net } = this.#options
    // One that is gone already has no address any more.
    const ticket = raw.remoteAddress === undefined ? 'gone' : limits.admit(sourceOf(raw.remoteAddress))
    if (typeof ticket === 'string') {
      if (ticket !== 'gone') metrics.connectionsRefused.inc({ limit: ticket })
      raw.destroy()
      return
    }
    net.watch(raw, 'connection')
    metrics.connections.set(limits.total)
    this.#unserved.add(raw)
    raw.once('close', () => {
      ticket.release()
      this.#unserved.delete(raw)
      metrics.connections.set(limits.total)
    })
    const adopt = (socket: TLSSocket): void => {
      this.#adopt(socket, ticket)
      if (this.#open.has(socket)) this.#unserved.delete(raw)
    }
    this.#secure(raw).then(adopt, (error: Error) => this.#handshakeFailed(error))
  }

  #secure(raw: Socket): Promise<TLSSocket> {
    const { tunnel, clock, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = this.#options
    return secureAsServer(raw, {
      clock,
      limitMs: handshakeTimeoutMs,
      protocols: [...(tunnel === undefined ? [] : [SESSION_PROTOCOL]), 'http/1.1', 'h2'],
      secureContext: () => this.#unnamedContext(),
      SNICallback: (serverName, done) => this.#contextFor(serverName, done),
    })
  }

  #handshakeFailed(error: Error): void {
    this.#options.metrics.tlsErrors.inc()
    this.#options.logger.debug({ err: error }, 'tls handshake failed')
  }

  /** For clients that name no server; as new as that of all others. */
  #unnamedContext(): SecureContext {
    try {
      const choice = this.#options.choose(undefined)
      const door = choice instanceof Refusal ? undefined : choice
      const mark = door === undefined ? '' : `${door.serverIdentity().certificatePem}${trustMark(door)}`
      if (mark !== this.#unnamed.mark)
        this.#unnamed = { mark, context: createSecureContext(contextOptions(door, this.#options.nobody)) }
    } catch (error) {
      this.#options.logger.error({ err: error }, 'cannot use the server certificate, keeping the one before')
    }
    return this.#unnamed.context
  }

  #adopt(socket: TLSSocket, ticket: Ticket): void {
    this.#options.net.watch(socket, 'connection')
    // Whoever takes the socket over hears of its end; an error before that must not end the process.
    socket.on('error', (error) => this.#options.logger.debug({ err: error }, 'connection broke'))
    try {
      this.#handOver(socket, ticket)
    } catch (error) {
      this.#options.logger.error({ err: error }, 'cannot serve a connection')
      socket.destroy()
    }
  }

  #handOver(socket: TLSSocket, ticket: Ticket): void {
    const { choose, http, tunnel } = this.#options
    if (socket.destroyed) return
    const door = choose(serverNameOf(socket))
    if (door instanceof Refusal) {
      sendBare(socket, refusalResponse(door))
      return
    }
    const handler = socket.alpnProtocol === SESSION_PROTOCOL && tunnel !== undefined ? tunnel : http
    this.#open.set(socket, handler(connectionOf(socket, door, ticket)))
    socket.once('close', () => this.#open.delete(socket))
  }

  /** Connections that nobody serves have nothing to lose; the others may finish what they began. */
  async #stop(port: Server, deadline: AbortSignal): Promise<void> {
    const closed = closeListening(port)
    for (const raw of this.#unserved) raw.destroy()
    for (const connection of this.#open.values()) connection.drain()
    const cut = (): void => {
      for (const socket of this.#open.keys()) socket.destroy()
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

function connectionOf(socket: TLSSocket, door: ClusterDoor, ticket: Ticket): HubConnection {
  const address = socket.remoteAddress ?? ''
  const certificates = presentedCertificates(socket)
  const peer = { address, source: sourceOf(address), certificates, identified: () => ticket.identified() }
  return { socket, door, peer }
}
