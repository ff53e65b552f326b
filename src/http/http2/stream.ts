/**
 * One request and its answer, seen from one end: what waits to be sent, what has come and not been read, and how far each
 * side is. Knows nothing of frames; the session asks it for the next piece and brings it what came.
 */
import { ReceivedPieces } from './received-pieces.ts'

/** What is held of one body for a peer that reads slower than it comes: a few frames. */
export const MAX_UNSENT_STREAM_BYTES = 64 * 1024

/** Whoever uses the stream. Nothing is called after `onClose`. */
export interface StreamHandler {
  /** The answer begins. Not called for streams that the peer has opened: their head is why they are there. */
  onHead(fields: readonly string[], status: number): void
  /** Stays valid. More may come in the same turn, until `pause`. */
  onData(piece: Buffer): void
  /** The peer has sent all it wanted to send. */
  onEnd(trailers: readonly string[]): void
  /** What made `write` say false has gone. */
  onDrain(): void
  /** We have sent everything; what the peer sends goes on. */
  onSent(): void
  /** The stream is over: both sides have ended it, or `resetCode` says how it was broken off. */
  onClose(): void
}

/** For streams that nobody wants. */
export const ignoring: StreamHandler = {
  onHead() {},
  onData() {},
  onEnd() {},
  onDrain() {},
  onSent() {},
  onClose() {},
}

/** What a stream needs of its session. */
export interface StreamHost {
  sendHead(stream: Http2Stream, fields: readonly string[], isEnd: boolean): void
  /** There is something to send that was not there before. */
  hasMore(stream: Http2Stream): void
  /** Called when `bytes` more wait to be sent, or fewer where it is negative. */
  queued(bytes: number): void
  /** The reader has taken as much. */
  consumed(stream: Http2Stream, bytes: number): void
  breakOff(stream: Http2Stream, code: number): void
  /** The stream is over: both sides have sent everything. */
  over(stream: Http2Stream): void
}

const nothing: readonly string[] = []

export class Http2Stream {
  readonly id: number
  readonly #host: StreamHost
  handler: StreamHandler
  /** How much the peer takes, and how much it may send; both kept by the session. */
  sendWindow: number
  receiveWindow: number
  /** Read by us and not yet told to the peer. */
  uncreditedBytes = 0
  /** What is still to come of a body whose head has said how long it is; else -1. */
  announcedBytes = -1
  hasHead = false
  /** The request was HEAD. */
  isForHead = false
  /** We have sent everything, or will not send the rest. */
  isSendingOver = false
  /** The peer has sent everything. */
  isReceivingOver = false
  /** How it was broken off, by either side; undefined where it was not. */
  resetCode: number | undefined
  isClosed = false
  /** Bytes of what was written that have gone to the peer. */
  takenBytes = 0

  #queue: Buffer[] = []
  #queuedBytes = 0
  #isEnding = false
  #trailersToSend: readonly string[] = nothing
  #wantsDrain = false

  readonly #received = new ReceivedPieces()
  #trailersReceived: readonly string[] = nothing
  #isPaused = false
  #isDelivering = false
  #isEndTold = false

  constructor(id: number, host: StreamHost, handler: StreamHandler, windows: { send: number; receive: number }) {
    this.id = id
    this.#host = host
    this.handler = handler
    this.sendWindow = windows.send
    this.receiveWindow = windows.receive
  }

  /** The head of an answer. */
  respond(fields: readonly string[], isEnd: boolean): void {
    if (!this.isSendingOver) this.#host.sendHead(this, fields, isEnd)
  }

  /** False where enough is waiting: `onDrain` tells when to go on. What is written to a stream that is over goes nowhere. */
  write(piece: Buffer): boolean {
    if (this.isSendingOver || this.#isEnding || piece.length === 0) return true
    this.#queue.push(piece)
    this.#count(piece.length)
    this.#host.hasMore(this)
    if (this.#queuedBytes < MAX_UNSENT_STREAM_BYTES) return true
    this.#wantsDrain = true
    return false
  }

  end(trailers: readonly string[] = nothing): void {
    if (this.isSendingOver || this.#isEnding) return
    this.#isEnding = true
    this.#trailersToSend = trailers
    this.#host.hasMore(this)
  }

  /** The last piece and the end in one frame. */
  endWith(piece: Buffer): void {
    if (this.isSendingOver || this.#isEnding) return
    if (piece.length > 0) this.#queue.push(piece)
    this.#count(piece.length)
    this.end()
  }

  reset(code: number): void {
    if (!this.isClosed) this.#host.breakOff(this, code)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#deliver()
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** All that remains to be sent is the end. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  get trailersToSend(): readonly string[] {
    return this.#trailersToSend
  }

  /** At most as many bytes of what waits; there are some. */
  takePiece(maxBytes: number): Buffer {
    const first = this.#queue[0] as Buffer
    let piece = first
    if (first.length <= maxBytes) this.#queue.shift()
    else {
      piece = first.subarray(0, maxBytes)
      this.#queue[0] = first.subarray(maxBytes)
    }
    this.takenBytes += piece.length
    this.#count(-piece.length)
    return piece
  }

  /** Called by the session once it has sent what it can. */
  tellDrain(): void {
    if (!this.#wantsDrain || this.#queuedBytes >= MAX_UNSENT_STREAM_BYTES) return
    this.#wantsDrain = false
    if (!this.isSendingOver) this.handler.onDrain()
  }

  /** Whether a piece of the body, or its end, agrees with what its head has announced. */
  takesAnnounced(bytes: number, isEnd: boolean): boolean {
    if (this.announcedBytes < 0) return true
    this.announcedBytes -= bytes
    return isEnd ? this.announcedBytes === 0 : this.announcedBytes >= 0
  }

  received(piece: Buffer, windowBytes: number): void {
    const padding = windowBytes - piece.length
    if (padding > 0) this.#host.consumed(this, padding)
    if (piece.length === 0) return
    if (this.#isPaused || this.#isDelivering || !this.#received.isEmpty) {
      this.#received.add(piece)
      return
    }
    this.handler.onData(piece)
    this.#host.consumed(this, piece.length)
  }

  receivedEnd(trailers: readonly string[]): void {
    if (this.isClosed) return
    this.isReceivingOver = true
    this.#trailersReceived = trailers
    if (this.isSendingOver) this.#host.over(this)
    this.#deliver()
  }

  /** The end has been sent. */
  sentEnd(): void {
    this.isSendingOver = true
    if (this.isReceivingOver) this.#host.over(this)
    this.handler.onSent()
    this.#finishIfOver()
  }

  /** By either side, or with the connection. */
  brokenOff(code: number): void {
    if (this.isClosed) return
    this.#dropUnsent()
    this.resetCode = code
    this.#received.clear()
    this.#finish()
  }

  /** The peer has sent everything and wants no more of what we send: what has come is still read to its end. */
  stopSending(): void {
    this.#dropUnsent()
    this.#finishIfOver()
  }

  /** The handler hears what has happened before it was there. */
  handTo(handler: StreamHandler): void {
    this.handler = handler
    if (this.isClosed) handler.onClose()
    else if (this.isSendingOver) handler.onSent()
  }

  #dropUnsent(): void {
    this.isSendingOver = true
    this.#queue = []
    this.#count(-this.#queuedBytes)
  }

  #count(bytes: number): void {
    this.#queuedBytes += bytes
    if (bytes !== 0) this.#host.queued(bytes)
  }

  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    while (!this.#isPaused && !this.isClosed) {
      const piece = this.#received.take()
      if (piece === undefined) break
      this.handler.onData(piece)
      this.#host.consumed(this, piece.length)
    }
    this.#isDelivering = false
    this.#finishIfOver()
  }

  #finishIfOver(): void {
    if (this.isClosed || !this.isReceivingOver || this.#isPaused || !this.#received.isEmpty) return
    if (!this.#isEndTold) {
      this.#isEndTold = true
      this.handler.onEnd(this.#trailersReceived)
    }
    if (this.isSendingOver) this.#finish()
  }

  /** Once, although whoever is told of the end may end the other side within. */
  #finish(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.handler.onClose()
  }
}
