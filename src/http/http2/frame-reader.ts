/**
 * Cuts what comes from the connection into frames. The payload of DATA is handed on in the pieces in which it comes, without
 * a copy and without waiting for the rest; every other frame is small and handed on whole.
 */
import {
  CLIENT_PREFACE,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  Http2Error,
  MAX_FRAME_BYTES,
  readUint31,
} from './wire.ts'

export interface FrameSink {
  /** A whole frame. Its payload is valid during the call only. */
  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void
  /**
   * A piece of a DATA frame, to be kept by whoever likes; `isEnd` with the last piece of the stream, which may be empty.
   * `windowBytes` is what it takes of the windows: its own length, and its padding.
   */
  onData(streamId: number, piece: Buffer, isEnd: boolean, windowBytes: number): void
}

const empty = Buffer.alloc(0)

export class FrameReader {
  readonly #sink: FrameSink
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES)
  #headerBytes = 0
  #type = 0
  #flags = 0
  #streamId = 0
  #missing = 0
  /** Where a payload is gathered that comes in pieces, and how much of it is there. */
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  #isInPayload = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Throws an `Http2Error`. */
  push(chunk: Buffer): void {
    let offset = 0
    while (offset < chunk.length || (this.#isInPayload && this.#missing === 0)) {
      offset = this.#isInPayload ? this.#readPayload(chunk, offset) : this.#readHeader(chunk, offset)
    }
  }

  #readHeader(chunk: Buffer, start: number): number {
    if (this.#headerBytes === 0 && chunk.length - start >= FRAME_HEADER_BYTES) {
      this.#begin(chunk, start)
      return start + FRAME_HEADER_BYTES
    }
    const taken = chunk.copy(this.#header, this.#headerBytes, start)
    this.#headerBytes += taken
    if (this.#headerBytes === FRAME_HEADER_BYTES) {
      this.#headerBytes = 0
      this.#begin(this.#header, 0)
    }
    return start + taken
  }

  #begin(bytes: Buffer, offset: number): void {
    const length = bytes.readUIntBE(offset, 3)
    this.#type = bytes[offset + 3] ?? 0
    this.#flags = bytes[offset + 4] ?? 0
    this.#streamId = readUint31(bytes, offset + 5)
    if (length > MAX_FRAME_BYTES) throw new Http2Error(ErrorCode.frameSizeError, `a frame of ${length} bytes`)
    this.#missing = length
    this.#isInPayload = true
  }

  #readPayload(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#missing)
    const piece = start === end ? empty : chunk.subarray(start, end)
    this.#missing -= piece.length
    if (this.#type === FrameType.data && (this.#flags & Flag.padded) === 0) this.#passData(piece)
    else this.#gather(piece)
    return end
  }

  #passData(piece: Buffer): void {
    const isLast = this.#missing === 0
    if (isLast) this.#isInPayload = false
    this.#sink.onData(this.#streamId, piece, isLast && (this.#flags & Flag.endStream) !== 0, piece.length)
  }

  #gather(piece: Buffer): void {
    if (this.#missing > 0 || this.#gathered !== undefined) {
      this.#gathered ??= Buffer.allocUnsafe(piece.length + this.#missing)
      this.#gatheredBytes += piece.copy(this.#gathered, this.#gatheredBytes)
      if (this.#missing > 0) return
    }
    const payload = this.#gathered ?? piece
    this.#gathered = undefined
    this.#gatheredBytes = 0
    this.#isInPayload = false
    if (this.#type !== FrameType.data) this.#sink.onFrame(this.#type, this.#flags, this.#streamId, payload)
    else {
      const isEnd = (this.#flags & Flag.endStream) !== 0
      this.#sink.onData(this.#streamId, withoutPadding(payload), isEnd, payload.length)
    }
  }
}

/** The payload of a frame whose flag says that it is padded. */
export function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0]
  if (padding === undefined) throw new Http2Error(ErrorCode.frameSizeError, 'a padded frame without its padding')
  if (padding >= payload.length) throw new Http2Error(ErrorCode.protocolError, 'more padding than the frame is long')
  return payload.subarray(1, payload.length - padding)
}

/** Holds clients to what every one of them sends first, before any frame. */
export class PrefaceReader {
  #missing = CLIENT_PREFACE.length

  /** What comes behind it. Throws an `Http2Error` at anything else, as soon as it differs. */
  read(chunk: Buffer): Buffer {
    if (this.#missing === 0) return chunk
    const at = CLIENT_PREFACE.length - this.#missing
    const taken = Math.min(this.#missing, chunk.length)
    if (CLIENT_PREFACE.compare(chunk, 0, taken, at, at + taken) !== 0)
      throw new Http2Error(ErrorCode.protocolError, 'a client that does not begin as one of HTTP/2')
    this.#missing -= taken
    return chunk.subarray(taken)
  }
}
