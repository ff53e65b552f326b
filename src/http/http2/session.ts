/**
 * One end of an HTTP/2 connection, without the connection: bytes go in by `receive`, frames come out by the transport, and
 * time is whatever the caller says. It keeps the protocol; what requests mean is not its business.
 *
 * Always true: a stream in the table can still get frames from the peer, a handler hears `onClose` exactly once, and after a
 * failure nothing more is sent or delivered.
 */
import { callAll } from '../../runtime/call-all.ts'
import { goAwayFrame, pingFrame } from './control-frames.ts'
import { FrameDispatch, type FrameTarget } from './frame-dispatch.ts'
import { FrameReader, PrefaceReader } from './frame-reader.ts'
import { bodyBytesOf, readRequestHead, readResponseHead, trailersProblem } from './head-rules.ts'
import { type HeaderBlock, headFrames } from './header-blocks.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { HpackEncoder } from './hpack/encoder.ts'
import { HpackError } from './hpack/hpack-error.ts'
import { ReceiveWindows } from './receive-windows.ts'
import { SendScheduler, type Transport } from './send-scheduler.ts'
import type { SessionEvents, SessionOptions } from './session-options.ts'
import { PeerSettings } from './settings.ts'
import { Http2Stream, ignoring, type StreamHandler, type StreamHost } from './stream.ts'
import { StreamResets } from './stream-resets.ts'
import {
  CLIENT_PREFACE,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  frame,
  Http2Error,
  MAX_STREAM_ID,
  MAX_WINDOW_BYTES,
  Setting,
} from './wire.ts'

const headerTableBytes = 4_096
/** A block is smaller than what it decodes to, as a rule; where nothing is compressed it needs a little more. */
const blockOverheadBytes = 16 * 1024

export class Http2Session implements StreamHost, FrameTarget {
  readonly #options: SessionOptions
  readonly #events: SessionEvents
  readonly #transport: Transport
  readonly #isServer: boolean
  readonly #reader: FrameReader
  readonly #decoder: HpackDecoder
  readonly #encoder = new HpackEncoder(headerTableBytes)
  readonly #scheduler: SendScheduler
  readonly #windows: ReceiveWindows
  readonly #peer: PeerSettings
  readonly #streams = new Map<number, Http2Stream>()
  readonly #resets: StreamResets
  readonly #preface: PrefaceReader | undefined
  #lastOwnId: number
  #lastPeerId = 0
  /** The last stream of the peer that was looked at. */
  #lastServedId = 0
  #isLeaving = false
  #isPeerLeaving = false
  #isOver = false

  constructor(options: SessionOptions, transport: Transport, events: SessionEvents) {
    const { role, nowMs, maxHeadBytes, maxHeadFields, connectionWindowBytes, streamWindowBytes } = options
    this.#options = options
    this.#events = events
    this.#transport = transport
    this.#isServer = role === 'server'
    this.#peer = new PeerSettings(!this.#isServer)
    this.#lastOwnId = this.#isServer ? 0 : -1
    this.#preface = this.#isServer ? new PrefaceReader() : undefined
    this.#reader = new FrameReader(new FrameDispatch(this, maxHeadBytes + blockOverheadBytes, nowMs))
    const headLimits = { maxListBytes: maxHeadBytes, maxFields: maxHeadFields }
    this.#decoder = new HpackDecoder({ maxTableBytes: headerTableBytes, ...headLimits })
    this.#scheduler = new SendScheduler(transport, (stream) => this.sendHead(stream, stream.trailersToSend, true))
    this.#windows = new ReceiveWindows(transport, {
      connectionBytes: connectionWindowBytes,
      streamBytes: streamWindowBytes,
    })
    this.#resets = new StreamResets(transport, this.#isServer, nowMs)
    this.#begin()
  }

  get openStreams(): number {
    return this.#streams.size
  }

  /** The connection has ended, or must. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** What came from the connection. */
  receive(chunk: Buffer): void {
    if (this.#isOver) return
    try {
      this.#reader.push(this.#preface?.read(chunk) ?? chunk)
    } catch (error) {
      if (error instanceof HpackError) this.#fail(new Http2Error(ErrorCode.compressionError, error.message))
      else if (error instanceof Http2Error) this.#fail(error)
      else throw error
    }
  }

  /** The transport takes more again. */
  resume(): void {
    this.#scheduler.run()
  }

  /** For clients. The handler hears of the answer; with `isEnd` it hears `onSent` before this returns. */
  open(fields: readonly string[], handler: StreamHandler, isEnd: boolean): Http2Stream {
    if (this.#isOver || this.#isPeerLeaving || this.#lastOwnId + 2 > MAX_STREAM_ID)
      throw new Error('the connection takes no more requests')
    this.#lastOwnId += 2
    const stream = this.#add(this.#lastOwnId, handler)
    stream.isForHead = fields[fields.indexOf(':method') + 1] === 'HEAD'
    this.sendHead(stream, fields, isEnd)
    if (this.#lastOwnId + 2 > MAX_STREAM_ID) this.#events.onGoAway()
    return stream
  }

  /** With eight bytes, which come back. */
  ping(payload: Buffer): void {
    if (!this.#isOver) this.#transport.send(pingFrame(0, payload))
  }

  /** Sets the receive window of every stream, those that are open included. */
  setStreamWindow(bytes: number): void {
    if (!this.#isOver) this.#windows.setStreamWindow(bytes, this.#streams.values())
  }

  /** Takes no more streams; those under way go on. */
  leave(): void {
    if (this.#isLeaving || this.#isOver) return
    this.#isLeaving = true
    this.#transport.send(goAwayFrame(this.#lastServedId, ErrorCode.noError))
  }

  /** The connection is gone, or is about to be. */
  end(code: number = ErrorCode.cancel): void {
    if (this.#isOver) return
    this.#isOver = true
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    for (const stream of streams) this.#scheduler.forget(stream)
    callAll(streams.map((stream) => () => stream.brokenOff(code)))
  }

  sendHead(stream: Http2Stream, fields: readonly string[], isEnd: boolean): void {
    if (this.#isOver) return
    const block = this.#encoder.encode(fields, FRAME_HEADER_BYTES)
    for (const bytes of headFrames(stream.id, block, isEnd)) this.#transport.send(bytes)
    if (isEnd) stream.sentEnd()
  }

  hasMore(stream: Http2Stream): void {
    if (!this.#isOver) this.#scheduler.consider(stream)
  }

  queued(bytes: number): void {
    this.#events.onQueued?.(bytes)
  }

  consumed(stream: Http2Stream, bytes: number): void {
    if (!this.#isOver && !stream.isReceivingOver && !stream.isClosed) this.#windows.consumed(stream, bytes)
  }

  breakOff(stream: Http2Stream, code: number): void {
    if (this.#streams.has(stream.id)) this.#resets.send(stream.id, code)
    this.#brokenOff(stream, code)
  }

  over(stream: Http2Stream): void {
    this.#streams.delete(stream.id)
  }

  onData(streamId: number, piece: Buffer, isEnd: boolean, windowBytes: number): void {
    if (this.#isOver) return
    this.#windows.received(windowBytes)
    const stream = this.#known(streamId)
    if (stream === undefined) {
      this.#resets.refuseLate(streamId, ErrorCode.streamClosed)
      return
    }
    stream.receiveWindow -= windowBytes
    if (stream.isReceivingOver) this.#refuse(stream, ErrorCode.streamClosed)
    // Below nothing is where a window may be that has shrunk; the end of a body needs none.
    else if (stream.receiveWindow < 0 && windowBytes > 0) this.#refuse(stream, ErrorCode.flowControlError)
    else if (!stream.hasHead || !stream.takesAnnounced(piece.length, isEnd))
      this.#refuse(stream, ErrorCode.protocolError)
    else {
      stream.received(piece, windowBytes)
      if (isEnd) stream.receivedEnd([])
    }
  }

  onBlock({ streamId, isEnd, bytes }: HeaderBlock): void {
    if (this.#isOver) return
    const { fields, isTooLarge } = this.#decoder.decode(bytes)
    if (this.#isServer && streamId % 2 === 1 && streamId > this.#lastPeerId) {
      this.#onRequest(streamId, fields, isEnd, isTooLarge)
      return
    }
    const stream = this.#known(streamId)
    if (stream === undefined) this.#onLateHead(streamId, fields)
    else if (stream.isReceivingOver) this.#refuse(stream, ErrorCode.streamClosed)
    else if (isTooLarge) this.#refuse(stream, ErrorCode.protocolError)
    else if (stream.hasHead) this.#onTrailers(stream, fields, isEnd)
    else this.#onResponse(stream, fields, isEnd)
  }

  onWindowUpdate(streamId: number, bytes: number): void {
    if (this.#isOver) return
    if (streamId === 0) {
      if (bytes === 0) throw new Http2Error(ErrorCode.protocolError, 'a window that grows by nothing')
      this.#scheduler.window = widened(this.#scheduler.window, bytes)
      this.#scheduler.run()
      return
    }
    const stream = this.#known(streamId)
    if (stream === undefined) {
      // May be under way to a stream that is over, but not for nothing.
      if (bytes === 0) this.#resets.refuseLate(streamId, ErrorCode.protocolError)
    } else if (bytes === 0) this.#refuse(stream, ErrorCode.protocolError)
    else if (stream.sendWindow + bytes > MAX_WINDOW_BYTES) this.#refuse(stream, ErrorCode.flowControlError)
    else {
      stream.sendWindow += bytes
      this.#scheduler.consider(stream)
    }
  }

  onReset(streamId: number, code: number): void {
    if (this.#isOver) return
    const stream = this.#known(streamId)
    this.#resets.received(code === ErrorCode.noError && stream?.isSendingOver !== false)
    if (stream === undefined) return
    // Servers may answer before they have read all, and say so in this way; clients have no reason to.
    if (this.#isServer || code !== ErrorCode.noError || !stream.isReceivingOver) this.#brokenOff(stream, code)
    else {
      this.#forget(stream)
      stream.stopSending()
    }
  }

  onSettings(payload: Buffer): void {
    if (this.#isOver) return
    const before = this.#peer.windowBytes
    this.#peer.apply(payload)
    this.#encoder.setPeerTableBytes(this.#peer.lowestTableBytes)
    this.#encoder.setPeerTableBytes(this.#peer.headerTableBytes)
    this.#transport.send(frame(FrameType.settings, Flag.ack, 0, 0))
    const shift = this.#peer.windowBytes - before
    const streams = shift === 0 ? [] : [...this.#streams.values()]
    // All of them before any goes on, or one that has its turn would go by what was true before.
    for (const stream of streams) stream.sendWindow = widened(stream.sendWindow, shift)
    for (const stream of streams) this.#scheduler.consider(stream)
    this.#events.onPeerLimit(this.#peer.maxStreams)
  }

  onSettingsTaken(): void {
    if (!this.#isOver) this.#windows.taken(this.#streams.values())
  }

  onPing(payload: Buffer): void {
    if (!this.#isOver) this.#transport.send(pingFrame(Flag.ack, payload))
  }

  onPong(payload: Buffer): void {
    if (!this.#isOver) this.#events.onPong(payload)
  }

  onGoAway(lastStreamId: number): void {
    if (this.#isOver) return
    this.#isPeerLeaving = true
    this.#events.onGoAway()
    if (this.#isServer) return
    // Those above have not been looked at, and may be asked again elsewhere.
    const unseen = [...this.#streams.values()].filter(({ id }) => id > lastStreamId)
    for (const stream of unseen) this.#brokenOff(stream, ErrorCode.refusedStream)
  }

  #begin(): void {
    const { maxPeerStreams, maxHeadBytes } = this.#options
    if (!this.#isServer) this.#transport.send(CLIENT_PREFACE)
    this.#windows.begin([
      [Setting.maxHeaderListSize, maxHeadBytes],
      this.#isServer ? [Setting.maxConcurrentStreams, maxPeerStreams] : [Setting.enablePush, 0],
    ])
  }

  #add(id: number, handler: StreamHandler): Http2Stream {
    const windows = { send: this.#peer.windowBytes, receive: this.#windows.forNewStream }
    const stream = new Http2Stream(id, this, handler, windows)
    this.#streams.set(id, stream)
    return stream
  }

  #fail(error: Http2Error): void {
    if (this.#isOver) return
    this.#transport.send(goAwayFrame(this.#lastServedId, error.code))
    this.#events.onFailure(error)
    this.end(error.code)
  }

  /** Undefined for streams that are over: what was under way to them is of no interest. Others must have been opened. */
  #known(streamId: number): Http2Stream | undefined {
    const stream = this.#streams.get(streamId)
    if (stream !== undefined) return stream
    const isOwn = streamId % 2 === (this.#isServer ? 0 : 1)
    if (streamId === 0 || streamId > (isOwn ? this.#lastOwnId : this.#lastPeerId))
      throw new Http2Error(ErrorCode.protocolError, `a frame for stream ${streamId}, which nobody has opened`)
    return undefined
  }

  /** The peer has done wrong, on this stream alone. */
  #refuse(stream: Http2Stream, code: number): void {
    this.#resets.spend()
    this.breakOff(stream, code)
  }

  #brokenOff(stream: Http2Stream, code: number): void {
    this.#forget(stream)
    stream.brokenOff(code)
  }

  #forget(stream: Http2Stream): void {
    this.#streams.delete(stream.id)
    this.#scheduler.forget(stream)
  }

  #onRequest(streamId: number, fields: string[], isEnd: boolean, isTooLarge: boolean): void {
    this.#lastPeerId = streamId
    // Its client has been told that we take no more, or will see it in a moment, and may ask elsewhere.
    if (this.#isLeaving) {
      this.#resets.remember(streamId)
      return
    }
    this.#lastServedId = streamId
    const facts = readRequestHead(fields)
    const isMalformed = typeof facts === 'string' || (isEnd && facts.contentLength > 0)
    if (this.#streams.size >= this.#options.maxPeerStreams) this.#resets.refuse(streamId, ErrorCode.refusedStream)
    else if (isTooLarge) this.#refuseLarge(streamId, isEnd)
    else if (isMalformed) this.#resets.refuse(streamId, ErrorCode.protocolError)
    else this.#accept(streamId, fields, isEnd, facts.contentLength)
  }

  #accept(streamId: number, fields: string[], isEnd: boolean, contentLength: number): void {
    const stream = this.#add(streamId, ignoring)
    stream.hasHead = true
    stream.announcedBytes = contentLength
    stream.handTo(this.#events.onStream?.(stream, fields, !isEnd) ?? ignoring)
    if (isEnd) stream.receivedEnd([])
  }

  /** On a stream that is over: trailers may have been under way to it, but nothing that opens it. */
  #onLateHead(streamId: number, fields: readonly string[]): void {
    this.#resets.spend()
    if (this.#isServer && fields[0]?.startsWith(':') === true)
      throw new Http2Error(ErrorCode.protocolError, 'a request on a stream that is over')
    this.#resets.refuseLate(streamId, ErrorCode.streamClosed)
  }

  /** The client is told why: its head may be in order but for its size. */
  #refuseLarge(streamId: number, isEnd: boolean): void {
    this.#resets.spend()
    const stream = this.#add(streamId, ignoring)
    this.sendHead(stream, [':status', '431', 'content-length', '0'], true)
    if (isEnd) stream.receivedEnd([])
    else this.breakOff(stream, ErrorCode.noError)
  }

  #onResponse(stream: Http2Stream, fields: string[], isEnd: boolean): void {
    const facts = readResponseHead(fields)
    const bodyBytes = typeof facts === 'string' ? -1 : bodyBytesOf(facts, stream.isForHead)
    if (typeof facts === 'string' || (isEnd && (facts.status < 200 || bodyBytes > 0))) {
      this.#refuse(stream, ErrorCode.protocolError)
      return
    }
    // Answers before the answer tell nothing that is of use here.
    if (facts.status < 200) return
    stream.hasHead = true
    stream.announcedBytes = bodyBytes
    stream.handler.onHead(fields, facts.status)
    if (isEnd) stream.receivedEnd([])
  }

  #onTrailers(stream: Http2Stream, fields: string[], isEnd: boolean): void {
    const isWrong = !isEnd || trailersProblem(fields) !== undefined || !stream.takesAnnounced(0, true)
    if (isWrong) this.#refuse(stream, ErrorCode.protocolError)
    else stream.receivedEnd(fields)
  }
}

function widened(window: number, bytes: number): number {
  if (window + bytes > MAX_WINDOW_BYTES) throw new Http2Error(ErrorCode.flowControlError, 'a window that is too wide')
  return window + bytes
}
