/** A port of a front: a unix socket, or TCP with mutual TLS. It bounds connections and hands them over one by one. */
import { createServer, type Server, type Socket } from 'node:net'
import { formatAddress, type ListenAddress, listen } from '../../network/listen.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { DenialLog } from '../denial-log.ts'
import { sourceOf } from '../port/source-address.ts'
import type { FrontClient, FrontConnection, FrontHandler } from './front-client.ts'
import { FrontTls, type FrontTlsOptions } from './front-tls.ts'
import type { FrontMetrics } from './metrics.ts'
import { listenOnUnixSocket, type UnixSocketAddress } from './unix-socket.ts'

/** Connections of one port: far more than a control plane has, each of which may be somebody's open `kubectl logs -f`. */
const MAX_FRONT_CONNECTIONS = 10_000

/** Connections of one TCP port that have shown no certificate, or none that counts. Beyond it, the oldest makes room for the newest. */
const MAX_FRONT_STRANGERS = 512

export type FrontAddress =
  | ({ readonly kind: 'unix' } & UnixSocketAddress)
  | { readonly kind: 'tcp'; readonly listen: ListenAddress; readonly tls: Omit<FrontTlsOptions, 'clock' | 'net'> }

export interface FrontListenerOptions extends Pick<FrontTlsOptions, 'clock'> {
  /** The value of the label `front`, and for logs. */
  readonly front: string
  readonly address: FrontAddress
  readonly handler: FrontHandler
  readonly metrics: FrontMetrics
  readonly logger: Logger
  readonly net: SafetyNet
  readonly maxConnections?: number
  readonly maxStrangers?: number
}

export class FrontListener implements Part {
  readonly name: string
  readonly #options: FrontListenerOptions
  readonly #tls: FrontTls | undefined
  readonly #sockets = new Set<Socket>()
  /** Connections that have shown no certificate that counts, the oldest first. */
  readonly #strangers = new Set<Socket>()
  readonly #open = new Map<Socket, FrontConnection>()
  readonly #failures: DenialLog
  readonly #refusals: DenialLog
  #boundAddress: ListenAddress | undefined

  constructor(options: FrontListenerOptions) {
    const { address, front, clock, net } = options
    this.name = `${front} front`
    this.#options = options
    this.#failures = new DenialLog(clock, options.logger, 'tls handshake with a front failed')
    this.#refusals = new DenialLog(clock, options.logger, 'a client may not use this front', 'warn')
    this.#tls = address.kind === 'tcp' ? new FrontTls({ ...address.tls, clock, net }) : undefined
  }

  /** The address that a TCP port is really bound to. */
  get boundAddress(): ListenAddress {
    if (this.#boundAddress === undefined) throw new Error(`the ${this.name} has no TCP port`)
    return this.#boundAddress
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    signal.throwIfAborted()
    const options = { allowHalfOpen: true, noDelay: true, keepAlive: true }
    const port = createServer(options, (socket) => this.#accept(socket))
    this.#options.net.watchServer(port)
    const remove = await this.#listen(port)
    port.on('error', fail)
    return { stop: (deadline) => this.#stop(port, remove, deadline) }
  }

  async #listen(port: Server): Promise<() => Promise<void>> {
    const { address, logger } = this.#options
    if (address.kind === 'unix') {
      const remove = await listenOnUnixSocket(port, address)
      logger.info({ path: address.path }, 'front is listening')
      return remove
    }
    this.#boundAddress = await listen(port, address.listen)
    logger.info({ address: formatAddress(this.#boundAddress) }, 'front is listening')
    return async () => {}
  }

  #accept(socket: Socket): void {
    const { front, metrics, net, maxConnections = MAX_FRONT_CONNECTIONS } = this.#options
    if (this.#sockets.size - this.#strangers.size >= maxConnections) {
      metrics.rejected.inc({ front, reason: 'limit' })
      socket.destroy()
      return
    }
    net.watch(socket, 'connection')
    this.#sockets.add(socket)
    metrics.connections.inc({ front })
    // Whoever takes it over hears of its end; an error before that must not end the process.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#strangers.delete(socket)
      this.#open.delete(socket)
      metrics.connections.dec({ front })
    })
    if (this.#tls === undefined) this.#handOver(socket, socket, { source: 'the unix socket' })
    else this.#secure(this.#tls, socket)
  }

  #secure(tls: FrontTls, raw: Socket): void {
    const { front, metrics, maxStrangers = MAX_FRONT_STRANGERS } = this.#options
    this.#strangers.add(raw)
    const [oldest] = this.#strangers
    if (this.#strangers.size > maxStrangers && oldest !== undefined) {
      metrics.rejected.inc({ front, reason: 'limit' })
      this.#strangers.delete(oldest)
      oldest.destroy()
    }
    this.#options.net.guard('connection', () => void raw.destroy())(() => this.#handshake(tls, raw))
  }

  async #handshake(tls: FrontTls, raw: Socket): Promise<void> {
    const { front, metrics } = this.#options
    const address = raw.remoteAddress ?? ''
    try {
      const { socket, client } = await tls.handshake(raw)
      if (client.refusal === undefined) this.#strangers.delete(raw)
      else this.#refusals.add(sourceOf(address), { front, ...client })
      this.#handOver(raw, socket, client)
    } catch (error) {
      raw.destroy()
      metrics.rejected.inc({ front, reason: 'tls' })
      this.#failures.add(sourceOf(address), { front, address, err: error })
    }
  }

  /** `raw` stands for the connection; `socket` is what is spoken on. */
  #handOver(raw: Socket, socket: Socket, client: FrontClient): void {
    this.#open.set(raw, this.#options.handler(socket, client))
  }

  /** Connections in the middle of a handshake have nothing to lose; the others may finish what they began. */
  async #stop(port: Server, remove: () => Promise<void>, deadline: AbortSignal): Promise<void> {
    await remove()
    const closed = new Promise<void>((resolve) => port.close(() => resolve()))
    for (const socket of this.#sockets) if (!this.#open.has(socket)) socket.destroy()
    for (const connection of this.#open.values()) connection.drain()
    const cut = (): void => {
      for (const socket of this.#sockets) socket.destroy()
    }
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await closed
    deadline.removeEventListener('abort', cut)
  }
}
