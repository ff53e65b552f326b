/**
 * Which stream sends next: one frame each in turn, as far as its own window, the connection's and the transport allow. The
 * end of a body needs no window and goes at once.
 */
import type { Http2Stream } from './stream.ts'
import { DEFAULT_WINDOW_BYTES, Flag, FRAME_HEADER_BYTES, FrameType, MAX_FRAME_BYTES, writeFrameHeader } from './wire.ts'

/** Where frames go. */
export interface Transport {
  /** Takes it in any case. */
  send(bytes: Buffer): void
  /** Whether bodies may go on; `Http2Session.resume` tells when they may again. */
  readonly canTakeMore: boolean
}

export class SendScheduler {
  readonly #transport: Transport
  /** Streams with something to send and room in their own window, in the order of their turns. */
  readonly #ready = new Set<Http2Stream>()
  /** What the peer lets us send on the whole connection. */
  window = DEFAULT_WINDOW_BYTES
  #isRunning = false
  readonly #sendTrailers: (stream: Http2Stream) => void

  constructor(transport: Transport, sendTrailers: (stream: Http2Stream) => void) {
    this.#transport = transport
    this.#sendTrailers = sendTrailers
  }

  /** Something has changed for the stream: it has more to send, or more room. */
  consider(stream: Http2Stream): void {
    if (stream.isSendingOver) return
    if (stream.queuedBytes === 0) {
      if (stream.isEnding) this.#sendEnd(stream)
      return
    }
    if (stream.sendWindow > 0) this.#ready.add(stream)
    this.run()
  }

  forget(stream: Http2Stream): void {
    this.#ready.delete(stream)
  }

  /** What is written while streams are told that they may go on takes its turn in the same run. */
  run(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      this.#sendInTurns()
    } finally {
      this.#isRunning = false
    }
  }

  #sendInTurns(): void {
    for (const stream of this.#ready) {
      if (this.window <= 0 || !this.#transport.canTakeMore) return
      this.#ready.delete(stream)
      // Windows shrink too, below nothing even, while a stream waits for its turn.
      if (stream.sendWindow <= 0) continue
      this.#sendPiece(stream)
      // To the end of the line, and so visited again by this very loop.
      if (!stream.isSendingOver && stream.queuedBytes > 0 && stream.sendWindow > 0) this.#ready.add(stream)
      stream.tellDrain()
    }
  }

  #sendPiece(stream: Http2Stream): void {
    const piece = stream.takePiece(Math.min(stream.sendWindow, this.window, MAX_FRAME_BYTES))
    stream.sendWindow -= piece.length
    this.window -= piece.length
    const isLast = stream.isEnding && stream.queuedBytes === 0
    const isEnd = isLast && stream.trailersToSend.length === 0
    this.#sendFrame(stream, piece, isEnd)
    if (isEnd) stream.sentEnd()
    else if (isLast) this.#sendTrailers(stream)
  }

  #sendEnd(stream: Http2Stream): void {
    if (stream.trailersToSend.length > 0) {
      this.#sendTrailers(stream)
      return
    }
    this.#sendFrame(stream, undefined, true)
    stream.sentEnd()
  }

  #sendFrame(stream: Http2Stream, piece: Buffer | undefined, isEnd: boolean): void {
    const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES)
    writeFrameHeader(header, 0, piece?.length ?? 0, FrameType.data, isEnd ? Flag.endStream : 0, stream.id)
    this.#transport.send(header)
    if (piece !== undefined) this.#transport.send(piece)
  }
}
