/**
 * One local port that leads to a target behind the hub. The listener stays open whatever happens to the link: while there is
 * none, a client is reset at once instead of being left to wait. The client's first bytes travel with the open, so a
 * connection costs no round trip of its own.
 */

import { createServer, type Server, type Socket } from 'node:net'
import { type ListenAddress, listen } from '../../network/listen.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { OpenError, openErrorFrom } from '../../tunnel/open-error.ts'
import type { OutgoingOpen } from '../../tunnel/outgoing.ts'
import type { OpenHeader } from '../../tunnel/prelude/open-header.ts'
import { relay } from '../../tunnel/relay.ts'
import type { ForwardMetrics } from './forward-metrics.ts'
import type { ForwardSpec } from './forward-spec.ts'

/** Connections of one forward at a time: far above what the pods of a node hold to one target. */
const MAX_FORWARD_CONNECTIONS = 4_096
/** Connections of one forward that have no answer yet, so that a target that hangs cannot take all of them. */
const MAX_FORWARD_OPENS = 512

/** Lines in the log about connections that got nowhere, per second; any program on the node can cause them. */
const REFUSED_CONNECTIONS_LOGGED_PER_SECOND = 1
/** How many lines about connections that got nowhere may follow one another at once. */
export const REFUSED_CONNECTIONS_LOG_BURST = 20

/** Opens a stream towards the cloud; rejects with an `OpenError`. */
export type OpenStream = (header: OpenHeader, signal: AbortSignal) => Promise<OutgoingOpen>

export interface ForwardOptions extends ForwardSpec {
  readonly bindAddress: string
  readonly open: OpenStream
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly metrics: ForwardMetrics
  readonly maxConnections?: number
  readonly maxOpens?: number
}

export interface ForwardStatus {
  readonly target: string
  readonly listen: ListenAddress
  readonly connections: number
  /** Why the last connection got nowhere, until one does. */
  readonly lastError: string | undefined
}

export class Forward {
  readonly #options: ForwardOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #lines: LineLimit
  #address: ListenAddress
  #opening = 0
  #problem: string | undefined

  constructor(options: ForwardOptions) {
    this.#options = options
    this.#address = { host: options.bindAddress, port: options.localPort }
    const settings = { allowHalfOpen: true, noDelay: true, keepAlive: true }
    const { net, clock } = options
    this.#lines = new LineLimit(clock, REFUSED_CONNECTIONS_LOGGED_PER_SECOND, REFUSED_CONNECTIONS_LOG_BURST)
    this.#server = createServer(settings, (socket) => {
      net.watch(socket, 'connection')
      net.guard('connection', () => void socket.destroy())(() => this.#serve(socket))
    })
    net.watchServer(this.#server)
  }

  get status(): ForwardStatus {
    const { target } = this.#options
    return { target, listen: this.#address, connections: this.#sockets.size, lastError: this.#problem }
  }

  /** Rejects with a `ListenError`. Errors of a running listener, such as too many open files, pass and are logged. */
  async start(): Promise<void> {
    const { target, logger } = this.#options
    this.#address = await listen(this.#server, this.#address)
    this.#server.on('error', (error) => logger.error({ target, err: error }, 'a forward cannot take a connection'))
    logger.info({ target, ...this.#address }, 'forwarding')
  }

  /** Takes no more connections and lets those there are end; they are cut when `deadline` aborts. */
  async stop(deadline: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    const cut = (): void => {
      for (const socket of this.#sockets) socket.resetAndDestroy()
    }
    if (deadline.aborted) cut()
    else deadline.addEventListener('abort', cut, { once: true })
    await closed
    deadline.removeEventListener('abort', cut)
  }

  async #serve(socket: Socket): Promise<void> {
    // Until the relay listens, an error means only that the client has gone.
    socket.on('error', () => {})
    const { maxConnections = MAX_FORWARD_CONNECTIONS, maxOpens = MAX_FORWARD_OPENS, metrics } = this.#options
    if (this.#sockets.size >= maxConnections) return this.#refuse(socket, `${maxConnections} connections are open`)
    if (this.#opening >= maxOpens) return this.#refuse(socket, `${maxOpens} connections wait for an answer`)
    this.#sockets.add(socket)
    metrics.connected()
    let [toTunnelBytes, toSocketBytes] = [0, 0]
    try {
      ;({ toSocketBytes, toTunnelBytes } = await this.#join(socket))
    } finally {
      this.#sockets.delete(socket)
      metrics.closed(toTunnelBytes, toSocketBytes)
    }
  }

  async #join(socket: Socket): Promise<{ toSocketBytes: number; toTunnelBytes: number }> {
    this.#opening += 1
    const gone = new AbortController()
    const onGone = (): void => gone.abort(new OpenError('refused', 'the client has gone'))
    socket.once('close', onGone)
    try {
      const { stream, answered } = await this.#options.open({ target: this.#options.target }, gone.signal)
      socket.removeListener('close', onGone)
      answered.then(
        () => this.#answered(undefined),
        (error: unknown) => this.#answered(error),
      )
      return await relay(stream, socket)
    } catch (error) {
      this.#answered(error)
      socket.resetAndDestroy()
      return { toSocketBytes: 0, toTunnelBytes: 0 }
    }
  }

  #answered(error: unknown): void {
    this.#opening -= 1
    const { metrics } = this.#options
    if (error === undefined) {
      this.#problem = undefined
      metrics.answered('ok')
      return
    }
    const { code, message } = openErrorFrom(error)
    metrics.answered(code)
    this.#complain(message, code)
  }

  #refuse(socket: Socket, limit: string): void {
    this.#options.metrics.answered('limit')
    socket.resetAndDestroy()
    this.#complain(`${limit}; more are not taken`, 'limit')
  }

  /** A client that tries again and again fills no log: the same problem is told once, and several not without end. */
  #complain(why: string, code: string): void {
    const { target, logger } = this.#options
    const fields = { target, localPort: this.#address.port, code, why }
    const admitted = this.#problem === why ? undefined : this.#lines.admit()
    if (admitted === undefined) logger.debug(fields, 'connection refused')
    else logger.warn({ ...fields, ...admitted }, 'connection refused')
    this.#problem = why
  }
}
