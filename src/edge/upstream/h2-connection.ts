/** An HTTP/2 connection to the API server: its windows, its signs of life, and what it tells its pool. */
import { isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Http2Session } from '../../http/http2/session.ts'
import type { SessionEvents } from '../../http/http2/session-options.ts'
import { SessionPings } from '../../http/http2/session-pings.ts'
import { SocketTransport } from '../../http/http2/socket-transport.ts'
import type { Guard, SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Http2Liveness } from '../../tunnel/grpc/http2-liveness.ts'
import type { SecuredConnection } from './api-server-connection.ts'
import { type StreamOptions, type StreamOutcome, sendOnStream } from './h2-stream.ts'
import type { RetriableBody } from './retriable-body.ts'
import type { UpstreamRequest } from './upstream.ts'
import { streamWindowBytes, UNREAD_BUDGET_BYTES } from './windows.ts'

/** Often enough to see a dead connection in time, seldom enough for a metered link. */
export const UPSTREAM_PING_INTERVAL_MS = 15_000
/** Without an answer for as long the API server counts as gone, and whoever waits for it is told. */
export const UPSTREAM_DEAD_AFTER_MS = 30_000
/** Receive window of a whole connection. What is received is booked to its stream at once, so this bounds the flow and not the memory. */
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024
/** Headers of one request or answer: what an API server takes from its clients. */
export const MAX_HEADER_BLOCK_BYTES = 1024 * 1024
/** Headers of one answer; every warning is one. */
const MAX_ANSWER_HEADERS = 2_000

/**
 * Streams that we break off on one connection before the next requests get another: servers end connections with too many,
 * ours beyond 500, and what other clients have open there must not end with them.
 */
const MAX_CANCELS_PER_UPSTREAM = 300

export interface H2ConnectionOptions {
  readonly secured: SecuredConnection
  readonly serverName: string
  readonly isLeaving?: ((carrier: Duplex) => boolean) | undefined
  readonly clock: Clock
  readonly net: SafetyNet
  /** The round trip of the link, where it is known. */
  readonly rttMs: () => number | undefined
}

export interface H2ConnectionEvents {
  /** How many streams the API server takes on this connection. */
  peerTakes(streams: number): void
  /** The API server takes no more requests here; those under way go on. */
  goingAway(): void
  /** A stream is over. */
  finished(): void
  closed(): void
}

export class H2Connection {
  readonly #session: Http2Session
  readonly #socket: TLSSocket
  readonly #options: H2ConnectionOptions
  readonly #events: H2ConnectionEvents
  readonly #authority: string
  readonly #liveness: Http2Liveness
  readonly #streamOptions: StreamOptions
  readonly #pings: SessionPings
  readonly #guard: Guard
  #streams = 0
  #cancels = 0
  #windowBytes: number
  #whyEnded: Error | undefined

  constructor(options: H2ConnectionOptions, events: H2ConnectionEvents) {
    const { secured, serverName, clock, net } = options
    this.#options = options
    this.#guard = net.guard('connection', () => void secured.socket.destroy())
    net.watch(secured.socket, 'connection')
    this.#events = events
    this.#socket = secured.socket
    this.#authority = isIPv6(serverName) ? `[${serverName}]` : serverName
    this.#windowBytes = streamWindowBytes(options.rttMs(), 1)
    this.#session = this.#begin()
    this.#pings = new SessionPings(this.#session, clock)
    this.#streamOptions = this.#optionsOfStreams()
    this.#liveness = new Http2Liveness(this.#pings, {
      clock,
      intervalMs: UPSTREAM_PING_INTERVAL_MS,
      deadAfterMs: UPSTREAM_DEAD_AFTER_MS,
      receivedBytes: () => this.#socket.bytesRead,
      onDead: () => this.end(new Error(`the API server answers no ping for ${UPSTREAM_DEAD_AFTER_MS / 1000} s`)),
    })
    this.#socket.once('end', () => this.end(new Error('the API server has closed the connection')))
    this.#socket.once('close', () => this.#closed())
  }

  get isUsable(): boolean {
    return !this.#session.isOver && !this.#socket.destroyed
  }

  /** Requests had better take another connection. */
  get isLeaving(): boolean {
    const { isLeaving, secured } = this.#options
    return isLeaving?.(secured.carrier) === true
  }

  /** The receive window of each stream. */
  get windowBytes(): number {
    return this.#windowBytes
  }

  /** Sends a request for which the pool has counted a stream. */
  send(request: UpstreamRequest, body?: RetriableBody): Promise<StreamOutcome> {
    this.#streams += 1
    this.#fitWindow()
    return sendOnStream(request, body, this.#streamOptions)
  }

  /** More room for each stream where there are few of them, or where the link has become longer. */
  review(): void {
    const bytes = this.#fittingWindow()
    if (bytes !== this.#windowBytes) this.#setWindow(bytes)
  }

  /** Ends the connection and whatever is under way on it. */
  end(reason = new Error('the connection is not needed any more')): void {
    this.#whyEnded ??= reason
    this.#liveness.stop()
    this.#session.end()
    this.#socket.destroy()
  }

  #closed(): void {
    this.#liveness.stop()
    this.#session.end()
    this.#events.closed()
  }

  #begin(): Http2Session {
    const events: SessionEvents = {
      onPeerLimit: (streams) => this.#events.peerTakes(streams),
      onGoAway: () => this.#events.goingAway(),
      onPong: (payload) => this.#pings.answered(payload),
      // What it has done wrong is on its way to the API server, for its log.
      onFailure: (error) => {
        this.#whyEnded ??= error
        transport.flush()
        setImmediate(() => this.#guard(() => this.end(error)))
      },
    }
    const options = {
      role: 'client',
      streamWindowBytes: this.#windowBytes,
      connectionWindowBytes: CONNECTION_WINDOW_BYTES,
      maxPeerStreams: 0,
      maxHeadBytes: MAX_HEADER_BLOCK_BYTES,
      maxHeadFields: MAX_ANSWER_HEADERS,
      nowMs: () => this.#options.clock.monotonicMs(),
    } as const
    const transport = new SocketTransport(this.#socket, options, events, this.#guard)
    return transport.session
  }

  #optionsOfStreams(): StreamOptions {
    return {
      session: this.#session,
      authority: this.#authority,
      whyLost: () => this.#whyEnded ?? this.#options.secured.whyLost(),
      onRefused: () => this.#events.goingAway(),
      onCancel: () => {
        this.#cancels += 1
        if (this.#cancels === MAX_CANCELS_PER_UPSTREAM) this.#events.goingAway()
      },
      onClose: () => {
        this.#streams -= 1
        this.#events.finished()
      },
    }
  }

  #fittingWindow(): number {
    return streamWindowBytes(this.#options.rttMs() ?? this.#liveness.rttMs, this.#streams)
  }

  /** Every new stream shares the budget; room is given back only now and then, not with each stream that ends. */
  #fitWindow(): void {
    if (this.#windowBytes * this.#streams <= UNREAD_BUDGET_BYTES) return
    const bytes = this.#fittingWindow()
    if (bytes < this.#windowBytes) this.#setWindow(bytes)
  }

  #setWindow(bytes: number): void {
    if (!this.isUsable) return
    this.#windowBytes = bytes
    this.#session.setStreamWindow(bytes)
  }
}
