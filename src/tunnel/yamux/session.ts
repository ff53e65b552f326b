/**
 * A yamux session as a state machine: bytes and ticks in, bytes and events out. It owns no socket and no timer. Whoever
 * drives it passes what arrives to `receive`, asks `take` for what to send whenever `onSendable` has been called or the
 * carrier has drained, and calls `tick` when `dueMs` has come.
 *
 * What must stay true: a stream is in `#streams` from its first frame until nothing of it is left on the wire or unread;
 * after `onEnd` nothing is called any more, and `take` returns at most the farewell.
 */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import type { Account } from './budget.ts'
import { Drain } from './drain.ts'
import { offence, SessionError, StreamError } from './errors.ts'
import { FrameDecoder, type FrameHeader, type FrameSink } from './frame.ts'
import { HeaderSlab } from './header-slab.ts'
import { Keepalive } from './keepalive.ts'
import { DEFAULT_SESSION_LIMITS, OWN_OPENS_SHARE, type SessionLimits } from './limits.ts'
import { Outbox } from './outbox.ts'
import { PeerLimits } from './peer-limits.ts'
import type { WindowConditions } from './receive-window.ts'
import { RemoteIds } from './remote-ids.ts'
import type { SessionHandler, SessionOptions } from './session-options.ts'
import { Stream, type StreamHost } from './stream.ts'
import { StreamTable } from './stream-table.ts'
import {
  Flag,
  FrameType,
  GoAwayCode,
  type GoAwayReason,
  goAwayReasonOf,
  INITIAL_WINDOW_BYTES,
  MAX_STREAM_ID,
} from './wire.ts'

const goAwayTexts = { normal: 'no reason', protocolError: 'protocol error', internalError: 'internal error' }

export class Session implements FrameSink, StreamHost {
  readonly limits: SessionLimits
  readonly account: Account
  readonly headers = new HeaderSlab()
  turnMs: number
  readonly counters = { receivedBytes: 0, sentBytes: 0, openedStreams: 0, acceptedStreams: 0, refusedStreams: 0 }
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #handler: SessionHandler
  readonly #decoder: FrameDecoder
  readonly #streams = new StreamTable()
  readonly #drain = new Drain()
  readonly #outbox: Outbox
  readonly #keepalive: Keepalive
  readonly #remoteIds: RemoteIds
  readonly #peerLimits: PeerLimits
  readonly #ownOpens: TokenBucket
  #nextId: number
  #unaccepted = 0
  #payloadOf: Stream | undefined
  #payloadLeft = 0
  #endsWithPayload = false
  #peerIsGoingAway = false
  #error: SessionError | undefined

  constructor({ role, clock, budget, handler, limits }: SessionOptions) {
    this.limits = { ...DEFAULT_SESSION_LIMITS, ...limits }
    this.#clock = clock
    this.#handler = handler
    this.turnMs = clock.monotonicMs()
    this.#outbox = new Outbox(() => handler.onSendable())
    this.account = budget.openAccount(() => this.#streams.resetLargest())
    this.#decoder = new FrameDecoder(this, this.limits.maxFrameBytes)
    this.#keepalive = new Keepalive(this.limits.keepaliveIntervalMs, this.turnMs)
    this.#nextId = role === 'client' ? 1 : 2
    this.#remoteIds = new RemoteIds(role === 'client' ? 2 : 1)
    this.#peerLimits = new PeerLimits(this.limits, this.turnMs)
    this.#ownOpens = new TokenBucket(this.limits.maxOpensPerSecond * OWN_OPENS_SHARE, this.turnMs)
  }

  /** Why the session is over, if it is. */
  get error(): SessionError | undefined {
    return this.#error
  }

  get streamCount(): number {
    return this.#streams.size
  }

  /** Whether bytes are still to come, or to go, on some stream; those that only wait to be read do not count. */
  get hasOpenStreams(): boolean {
    return this.#streams.hasOpen
  }

  get rttMs(): number | undefined {
    return this.#keepalive.rttMs
  }

  get shortestRttMs(): number | undefined {
    return this.#keepalive.shortestRttMs
  }

  /** No new streams: one side has said that it goes away, or the session is over. */
  get isGoingAway(): boolean {
    return this.#drain.hasBegun || this.#peerIsGoingAway || this.#error !== undefined
  }

  /** When `tick` wants to be called, on the monotonic clock. */
  get dueMs(): number {
    return Math.min(this.#keepalive.dueMs, this.#drain.dueMs)
  }

  /** Opens a stream; bytes may be written at once. Throws a `StreamError` where there can be no new one. */
  open(): Stream {
    this.turnMs = this.#clock.monotonicMs()
    this.#refuseOpen()
    const stream = new Stream(this, this.#nextId, false)
    this.#nextId += 2
    this.#streams.add(stream)
    this.counters.openedStreams += 1
    this.#peerLimits.allowForStream()
    return stream
  }

  /**
   * Takes in bytes from the carrier, which must not change them any more. Where the time is up before all are read, what is left is
   * returned, to be passed in again before anything else.
   */
  receive(chunk: Uint8Array, isTimeUp?: () => boolean): Uint8Array | undefined {
    if (this.#error !== undefined) return undefined
    this.turnMs = this.#clock.monotonicMs()
    this.#keepalive.onBytes()
    try {
      const rest = this.#decoder.push(chunk, isTimeUp)
      this.counters.receivedBytes += chunk.length - (rest?.length ?? 0)
      return rest
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  /**
   * What to send now, in order: control frames, then about `maxBytes` of payload. The buffers are not touched again. Empty
   * when there is nothing.
   */
  take(maxBytes: number): Uint8Array[] {
    this.#outbox.begin()
    const out: Uint8Array[] = []
    this.turnMs = this.#clock.monotonicMs()
    if (this.#error === undefined && this.#keepalive.wantsPing) this.#ping()
    this.#outbox.takeControl(out)
    if (this.#error === undefined) {
      this.#outbox.takePayload(maxBytes, out)
      this.#endIfDrained()
    }
    for (const buffer of out) this.counters.sentBytes += buffer.length
    return out
  }

  tick(): void {
    if (this.#error !== undefined) return
    this.turnMs = this.#clock.monotonicMs()
    try {
      this.#keepalive.tick(this.turnMs)
      this.#streams.resetIdle(this.turnMs, this.limits.streamIdleMs)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#drain.tick(this.turnMs)
    if (this.#drain.isOverdue(this.turnMs)) this.#streams.resetAll('drain-deadline', 'the session was drained')
    this.#endIfDrained()
    if (this.#keepalive.wantsPing) this.#outbox.signal()
  }

  /**
   * Opens no streams from now on, and takes only those that the peer opened before it had read so. Ends once all streams have
   * ended, or after `drainMs`.
   */
  goAway(drainMs: number): void {
    if (this.#error !== undefined) return
    this.turnMs = this.#clock.monotonicMs()
    if (!this.#drain.begin(this.turnMs, drainMs)) return
    this.#sendGoAway('normal')
    this.#keepalive.wantPing()
  }

  /** Ends the session now; its streams are reset. */
  close(error: SessionError = new SessionError('closed', 'the session was closed here', 'normal')): void {
    if (this.#error !== undefined) return
    this.#error = error
    this.#decoder.stop()
    if (error.goAway !== undefined) this.#sendGoAway(error.goAway)
    this.#streams.failAll(error)
    this.#outbox.dropStreams()
    this.account.close()
    this.#handler.onEnd(error)
  }

  /** The carrier is gone; nothing can be sent any more. A `SessionError` says that the peer has misused it. */
  carrierLost(cause?: Error): void {
    const where = this.#decoder.atBoundary ? '' : ' in the middle of a frame'
    const why = cause === undefined ? '' : `: ${cause.message}`
    const lost = new SessionError('carrier-lost', `the connection was lost${where}${why}`, undefined, { cause })
    this.close(cause instanceof SessionError ? cause : lost)
  }

  // What the decoder reports.

  onHeader(header: FrameHeader): void {
    if (header.type === FrameType.ping) this.#onPing(header)
    else if (header.type === FrameType.goAway) this.#onGoAway(header.length)
    else this.#onStreamFrame(header)
  }

  onPayload(slice: Uint8Array): void {
    const stream = this.#payloadOf
    if (stream === undefined) return
    this.#payloadLeft -= slice.length
    stream.onPayload(slice)
    if (this.#payloadLeft === 0 && this.#endsWithPayload) stream.onEnd()
  }

  // What streams ask of their session.

  get sendHighWaterBytes(): number {
    return Math.min(this.limits.sendHighWaterBytes, this.account.fairSendBytes(this.#streams.size))
  }

  conditions(): WindowConditions {
    const nowMs = this.#clock.monotonicMs()
    if (this.#keepalive.refresh(nowMs)) this.#outbox.signal()
    return { nowMs, rttMs: this.#keepalive.rttMs, streams: this.#streams.size }
  }

  wantsToSend(stream: Stream): void {
    this.#outbox.schedule(stream)
  }

  wantsToAnnounce(stream: Stream): void {
    this.#outbox.announce(stream)
  }

  sendReset(stream: Stream): void {
    this.#peerLimits.allowForReset(stream.id, stream.peerCreditBytes)
    this.#pushControl(FrameType.windowUpdate, Flag.rst, stream.id, 0)
  }

  accepted(): void {
    this.#unaccepted -= 1
  }

  fruitless(what: string): void {
    try {
      this.#peerLimits.countFruitlessOpen(what, this.#clock.monotonicMs())
    } catch (error) {
      this.#fail(error)
    }
  }

  released(stream: Stream): void {
    this.#streams.remove(stream)
    if (this.#drain.hasBegun) this.#outbox.signal()
  }

  #onStreamFrame({ type, flags, streamId, length }: FrameHeader): void {
    this.#payloadOf = undefined
    const opens = (flags & Flag.syn) !== 0
    const stream = opens ? this.#acceptStream(streamId) : this.#streams.get(streamId)
    const isData = type === FrameType.data
    if (stream === undefined || stream.isWireClosed) {
      if (!opens) this.#peerLimits.countStray(streamId, isData ? length : 0, this.turnMs)
      return
    }
    const isIdle = (flags & ~Flag.ack) === 0 && (isData ? length === 0 : !stream.isCreditDue(length))
    if (isIdle) this.#peerLimits.countIdleFrame('empty frames', this.turnMs)
    if (isData) stream.expectPayload(length)
    else stream.onCredit(length)
    if ((flags & Flag.rst) !== 0) {
      if (!stream.isAccepted) this.#peerLimits.countFruitlessOpen('it resets before they are answered', this.turnMs)
      stream.fail(new StreamError('reset-by-peer', `stream ${streamId} was reset by the peer`), false)
    } else if ((flags & Flag.fin) !== 0 && (!isData || length === 0)) stream.onEnd()
    else if (isData) this.#expect(stream, length, (flags & Flag.fin) !== 0)
  }

  #expect(stream: Stream, bytes: number, endsStream: boolean): void {
    this.#payloadOf = stream
    this.#payloadLeft = bytes
    this.#endsWithPayload = endsStream
  }

  #acceptStream(id: number): Stream | undefined {
    if (!this.#remoteIds.use(id)) {
      throw offence('stream-id-reuse', `stream id ${id} is not a new one of the peer's`)
    }
    this.#peerLimits.countOpen(this.turnMs)
    if (this.#drain.isRead || this.#isFull) {
      this.counters.refusedStreams += 1
      this.#peerLimits.allowForStream()
      this.#peerLimits.allowForReset(id, INITIAL_WINDOW_BYTES)
      this.#pushControl(FrameType.windowUpdate, Flag.rst, id, 0)
      return undefined
    }
    const stream = new Stream(this, id, true)
    this.#streams.add(stream)
    this.#unaccepted += 1
    this.counters.acceptedStreams += 1
    this.#peerLimits.allowForStream()
    this.#handler.onStream(stream)
    return stream
  }

  get #isFull(): boolean {
    return this.#streams.size >= this.limits.maxStreams || this.#unaccepted >= this.limits.maxAcceptBacklog
  }

  #refuseOpen(): void {
    if (this.#error !== undefined) {
      throw new StreamError('session-ended', `no new stream: ${this.#error.message}`, { cause: this.#error })
    }
    if (this.isGoingAway) throw new StreamError('going-away', 'no new stream: the session is going away')
    if (this.#streams.size >= this.limits.maxStreams) {
      throw new StreamError('too-many-streams', `no new stream: ${this.limits.maxStreams} are open in this session`)
    }
    if (this.#nextId > MAX_STREAM_ID) throw new StreamError('ids-exhausted', 'no new stream: all ids have been used')
    if (!this.#ownOpens.take(this.turnMs)) {
      throw new StreamError('too-many-opens', 'no new stream: streams are opened too fast')
    }
  }

  #onPing({ flags, length }: FrameHeader): void {
    if (flags === Flag.syn) {
      this.#peerLimits.countPing(this.turnMs)
      this.#pushControl(FrameType.ping, Flag.ack, 0, length)
      return
    }
    if (!this.#keepalive.onPong(length, this.turnMs)) {
      this.#peerLimits.countIdleFrame('answers to pings nobody sent', this.turnMs)
      return
    }
    if (this.#drain.ponged(length)) this.#outbox.signal()
    this.#handler.onRoundTrip(this.#keepalive.rttMs ?? 0)
  }

  #onGoAway(code: number): void {
    const reason = goAwayReasonOf(code)
    if (reason !== 'normal') {
      const text = reason === undefined ? `code ${code}` : goAwayTexts[reason]
      throw new SessionError('peer-went-away', `the peer ended the session: ${text}`)
    }
    if (this.#peerIsGoingAway) {
      this.#peerLimits.countIdleFrame('repeated go-aways', this.turnMs)
      return
    }
    this.#peerIsGoingAway = true
    // The peer waits for what was opened in ignorance until we answer its next ping: that must not overtake it.
    this.#outbox.writeAnnouncements()
    this.#handler.onGoAway()
  }

  #ping(): void {
    const value = this.#keepalive.ping(this.turnMs)
    this.#drain.pinged(value)
    this.#outbox.push(FrameType.ping, Flag.syn, 0, value)
    this.#outbox.begin()
  }

  #pushControl(type: number, flags: number, streamId: number, length: number): void {
    if (this.#outbox.controlBytes >= this.limits.maxControlQueueBytes) {
      // Not thrown: our own resets come this way too.
      this.close(offence('control-flood', 'the peer causes control frames and does not read them'))
      return
    }
    this.#outbox.push(type, flags, streamId, length)
  }

  #sendGoAway(reason: GoAwayReason): void {
    this.#outbox.push(FrameType.goAway, 0, 0, GoAwayCode[reason])
  }

  #endIfDrained(): void {
    if (this.#error !== undefined || this.#streams.size > 0 || !this.#drain.isSettled(this.turnMs)) return
    this.close(new SessionError('closed', 'the session has been drained'))
  }

  /** Whatever goes wrong while the peer's bytes are handled ends this session and nothing else. */
  #fail(error: unknown): void {
    if (error instanceof SessionError) this.close(error)
    else this.close(new SessionError('internal', 'a stream handler failed', 'internalError', { cause: error }))
  }
}
