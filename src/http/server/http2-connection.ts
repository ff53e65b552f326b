/** A client's connection of HTTP/2: its exchanges, its signs of life and its end. */
import type { TLSSocket } from 'node:tls'
import type { Guard, SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SessionEvents } from '../http2/session-options.ts'
import { SessionPings } from '../http2/session-pings.ts'
import { SocketTransport } from '../http2/socket-transport.ts'
import type { Http2Stream } from '../http2/stream.ts'
import type { Peer, StreamingExchange } from './exchange.ts'
import { Http2Exchange } from './http2-exchange.ts'
import { endWhenIdle, type WatchedSession } from './idle-session.ts'
import {
  LAST_FRAMES_TIMEOUT_MS,
  MAX_REQUEST_HEADER_BYTES,
  MAX_REQUEST_HEADERS,
  MAX_STREAMS_PER_CONNECTION,
} from './limits.ts'
import { StalledStreams } from './stalled-streams.ts'
import type { UnsentAccount } from './unsent-answers.ts'

/** Enough for the largest body without a stop; the default of 64 KiB makes large lists crawl. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

export interface Http2ConnectionOptions {
  readonly peer: Peer
  readonly clock: Clock
  readonly net: SafetyNet
  readonly pingMs: number | undefined
  /** What waits for the client. */
  readonly unsent: UnsentAccount
  readonly serve: (exchange: StreamingExchange) => void | Promise<void>
}

export class Http2Connection implements WatchedSession {
  readonly #socket: TLSSocket
  readonly #options: Http2ConnectionOptions
  readonly #transport: SocketTransport
  readonly #pings: SessionPings
  readonly #date: () => string
  readonly #guard: Guard
  readonly #exchanges = new Map<Http2Exchange, Http2Stream>()
  readonly #stalled = new StalledStreams()
  #isLeaving = false
  #isEnding = false
  idleSinceMs: number

  constructor(socket: TLSSocket, options: Http2ConnectionOptions) {
    const { clock, pingMs, net } = options
    this.#socket = socket
    this.#guard = net.guard('connection', () => socket.destroy())
    this.#options = options
    this.#date = dateOf(clock)
    this.idleSinceMs = clock.monotonicMs()
    const limits = {
      maxPeerStreams: MAX_STREAMS_PER_CONNECTION,
      maxHeadBytes: MAX_REQUEST_HEADER_BYTES,
      maxHeadFields: MAX_REQUEST_HEADERS,
    }
    const windows = { streamWindowBytes, connectionWindowBytes }
    const nowMs = (): number => clock.monotonicMs()
    const session = { role: 'server', ...limits, ...windows, nowMs } as const
    this.#transport = new SocketTransport(socket, session, this.#events(), this.#guard)
    this.#pings = new SessionPings(this.#transport.session, clock)
    const stopWatching = endWhenIdle(this, clock, pingMs)
    socket.once('close', stopWatching)
    // A client that breaks the connection is told by the end of its exchanges.
    socket.on('error', () => {})
    // Nothing comes any more, so nobody waits for what is under way.
    socket.once('end', () => socket.destroy())
  }

  get openStreams(): number {
    return this.#exchanges.size
  }

  ping(callback: () => void): void {
    this.#pings.ping(callback)
  }

  /** Asks the client to go elsewhere and waits for what is under way. */
  close(): void {
    this.#isLeaving = true
    this.#transport.session.leave()
    this.#endIfIdle()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Ends the answers that nobody reads, and no others: a connection may carry those of many callers, of whom one does not
   * read. Where there are no others it ends as a whole.
   */
  cutUnread(): void {
    const begun = [...this.#exchanges].filter(([exchange]) => exchange.started)
    const unread = begun.filter(([, stream]) => stream.queuedBytes > 0)
    if (unread.length === begun.length) this.destroy()
    else for (const [exchange] of unread) this.#cut(exchange)
  }

  /** While others of the connection wait: ends the answers whose own reader has stopped, and says how many bytes that frees. */
  cutStalled(nowMs: number): number {
    const stalled = new Set(this.#stalled.look(this.#exchanges.values(), nowMs))
    let bytes = 0
    for (const [exchange, stream] of [...this.#exchanges]) {
      if (!stalled.has(stream)) continue
      bytes += stream.queuedBytes
      this.#cut(exchange)
    }
    return bytes
  }

  #events(): SessionEvents {
    const { unsent } = this.#options
    return {
      onStream: (stream, fields, hasBody) => this.#begin(stream, fields, hasBody),
      onPeerLimit: () => {},
      // A client that is about to go: what it has asked for is answered, then there is nobody left.
      onGoAway: () => this.close(),
      onPong: (payload) => this.#pings.answered(payload),
      onQueued: (bytes) => (bytes > 0 ? unsent.add(bytes) : unsent.taken(-bytes)),
      onFailure: () => this.#end(),
    }
  }

  #begin(stream: Http2Stream, fields: readonly string[], hasBody: boolean): Http2Exchange {
    const { peer, net, clock } = this.#options
    const exchange = new Http2Exchange(stream, fields, {
      peer,
      hasBody,
      clock,
      guard: (owner) => net.guard('request', () => this.#cut(owner)),
      date: this.#date,
      onClose: () => {
        this.#exchanges.delete(exchange)
        this.idleSinceMs = this.#options.clock.monotonicMs()
        this.#endIfIdle()
      },
    })
    this.#exchanges.set(exchange, stream)
    // In its turn: not before the stream knows its handler, and all that came in one piece has been read.
    const caller = exchange.headers.get('authorization')
    this.#options.unsent.whenRoom(() => this.#serve(exchange), caller)
    return exchange
  }

  /** What fails here costs its own stream and leaves the others of the connection alone. */
  #serve(exchange: Http2Exchange): void {
    if (!exchange.ending.aborted) exchange.guard(() => this.#options.serve(exchange))
  }

  /** Cuts the stream of an exchange, and the connection where not even that can be done. */
  #cut(exchange: Http2Exchange): void {
    try {
      exchange.abort()
    } catch (error) {
      this.#socket.destroy()
      throw error
    }
  }

  #endIfIdle(): void {
    if (this.#isLeaving && this.#exchanges.size === 0) this.#end()
  }

  /** After what is still to be sent; a client that does not read it must not keep the connection by that. */
  #end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    process.nextTick(() =>
      this.#guard(() => {
        this.#transport.flush()
        this.#socket.destroySoon()
      }),
    )
    this.#socket.once(
      'close',
      this.#options.clock.schedule(LAST_FRAMES_TIMEOUT_MS, () => this.#socket.destroy()),
    )
  }
}

/** Now, as HTTP writes it; worked out once a second. */
function dateOf(clock: Clock): () => string {
  let second = -1
  let text = ''
  return () => {
    const nowSecond = Math.floor(clock.nowMs() / 1000)
    if (nowSecond !== second) {
      second = nowSecond
      text = new Date(second * 1000).toUTCString()
    }
    return text
  }
}
