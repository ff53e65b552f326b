/**
 * The konnectivity front: the control plane opens a call for each connection it wants, over plain HTTP/2. What a
 * kube-apiserver's EgressSelectorConfiguration calls `GRPC`, on a unix socket.
 */

import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { GRPC_CONTENT_TYPE, GrpcCode, statusTrailers } from '../../tunnel/grpc/status.ts'
import { GrpcPacketPort } from '../../tunnel/konnectivity/packet-port.ts'
import { PacketSession } from '../../tunnel/konnectivity/packet-session.ts'
import { PROXY_PATH } from '../../tunnel/konnectivity/service.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { parseAuthority } from '../routing/destination.ts'
import type { RouteDialer } from '../routing/route-dialer.ts'
import { FRONT_LINGER_MS } from './connect-connection.ts'
import { FRONT_DIAL_TIMEOUT_MS, MAX_PENDING_FRONT_DIALS } from './connect-front.ts'
import type { FrontClient, FrontConnection } from './front-client.ts'
import { FAILED_FRONT_DIALS_LOG_BURST, FAILED_FRONT_DIALS_LOGGED_PER_SECOND } from './front-dials.ts'
import type { FrontMetrics } from './metrics.ts'

/** A kube-apiserver opens one call on each connection; later clients may share a connection between some. */
const MAX_CALLS_PER_FRONT_CONNECTION = 128
/** Calls on one connection that a client who may not use the front is refused; then the connection is cut. */
const MAX_REFUSED_CALLS = 16
/** Bytes the control plane may have under way on one connection; the socket below is on this machine. */
const GRPC_FRONT_WINDOW_BYTES = 1024 * 1024
/** Bytes that wait for the edge before the call is held up, which on a call of its own hurts nobody else. */
const MAX_QUEUED_BYTES_PER_CALL = 256 * 1024

export interface GrpcFrontOptions {
  readonly dialer: Pick<RouteDialer, 'dial'>
  readonly clock: Clock
  readonly budget: Budget
  readonly metrics: FrontMetrics
  readonly logger: Logger
  readonly net: SafetyNet
  readonly dialTimeoutMs?: number
  readonly maxPendingDials?: number
}

export class GrpcFront {
  /** The value of the label `front`. */
  static readonly label = 'grpc'
  readonly #options: GrpcFrontOptions
  readonly #lines: LineLimit
  #pendingDials = 0

  constructor(options: GrpcFrontOptions) {
    this.#options = options
    this.#lines = new LineLimit(options.clock, FAILED_FRONT_DIALS_LOGGED_PER_SECOND, FAILED_FRONT_DIALS_LOG_BURST)
  }

  /** A `FrontHandler`. */
  serve(socket: Socket, { source, refusal }: FrontClient): FrontConnection {
    const { clock, logger, net } = this.#options
    // To read why; nothing else comes of it.
    if (refusal !== undefined)
      socket.once(
        'close',
        clock.schedule(FRONT_LINGER_MS, () => socket.destroy()),
      )
    const session = net.watch(openSession(socket), 'connection', () => socket.destroy())
    session.on('error', (error) => logger.debug({ err: error }, 'http/2 session of a front broke'))
    let refused = 0
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      net.watch(stream, 'stream', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
      stream.on('error', () => {})
      if (refusal !== undefined) {
        refused += 1
        if (refused > MAX_REFUSED_CALLS) session.destroy()
        else refuse(stream, GrpcCode.permissionDenied, refusal)
      } else if (headers[constants.HTTP2_HEADER_PATH] !== PROXY_PATH)
        refuse(stream, GrpcCode.unimplemented, `this front serves ${PROXY_PATH} only`)
      else this.#serveCall(stream, source)
    })
    return { drain: () => session.close() }
  }

  #serveCall(stream: ServerHttp2Stream, source: string): void {
    const { clock, net, budget, logger } = this.#options
    const port = new GrpcPacketPort(stream, clock, {
      receive: (packet) => session.receive(packet),
      closed: (error) => {
        if (error !== undefined) logger.debug({ err: error }, 'call of a front broke')
        session.closed(error)
      },
    })
    const session = new PacketSession(port, {
      clock,
      net,
      budget,
      isSingleUse: true,
      closesWith: 'close-response',
      ids: { first: 1, step: 1 },
      maxConnections: 1,
      maxQueuedBytes: MAX_QUEUED_BYTES_PER_CALL,
      answer: (address, signal) => this.#dial(address, source, signal),
      onIdle: () => port.call.finish(GrpcCode.ok),
    })
    stream.respond({ ':status': 200, 'content-type': GRPC_CONTENT_TYPE }, { waitForTrailers: true })
  }

  /** Rejects with an `OpenError`. Every dial leaves one count, and a line in the log as long as there are not too many. */
  async #dial(address: string, source: string, signal: AbortSignal): Promise<Duplex> {
    const { clock, dialer, metrics, logger, dialTimeoutMs = FRONT_DIAL_TIMEOUT_MS } = this.#options
    const { maxPendingDials = MAX_PENDING_FRONT_DIALS } = this.#options
    const front = GrpcFront.label
    const beginMs = clock.monotonicMs()
    this.#pendingDials += 1
    try {
      if (this.#pendingDials > maxPendingDials)
        throw new OpenError('overloaded', `${maxPendingDials} connections are being opened already; try again later`)
      const destination = parseAuthority(address)
      if (typeof destination === 'string') throw new OpenError('invalid', destination)
      const options = { deadlineMs: dialTimeoutMs, source, signal }
      const { stream, node } = await dialer.dial(destination.host.text, destination.port, options)
      metrics.dials.inc({ front, code: 'ok' })
      metrics.dialSeconds.observe({ front }, (clock.monotonicMs() - beginMs) / 1000)
      logger.debug({ front, source, address, node }, 'connected for the control plane')
      return stream
    } catch (error) {
      if (!(error instanceof OpenError)) throw error
      metrics.dials.inc({ front, code: error.code })
      const admitted = this.#lines.admit()
      const told = { front, source, address, code: error.code, reason: error.message }
      if (admitted !== undefined) logger.info({ ...told, ...admitted }, 'not connected for the control plane')
      throw error
    } finally {
      this.#pendingDials -= 1
    }
  }
}

function openSession(socket: Socket): ServerHttp2Session {
  const session = performServerHandshake(socket, {
    settings: {
      maxConcurrentStreams: MAX_CALLS_PER_FRONT_CONNECTION,
      initialWindowSize: GRPC_FRONT_WINDOW_BYTES,
      enablePush: false,
    },
  })
  session.setLocalWindowSize(GRPC_FRONT_WINDOW_BYTES)
  // The port keeps half-open sockets open, which HTTP/2 has no use for.
  socket.once('end', () => socket.destroySoon())
  return session
}

function refuse(
  stream: ServerHttp2Stream,
  code: typeof GrpcCode.permissionDenied | typeof GrpcCode.unimplemented,
  message: string,
): void {
  stream.respond(
    { ':status': 200, 'content-type': GRPC_CONTENT_TYPE, ...statusTrailers(code, message) },
    { endStream: true },
  )
}
