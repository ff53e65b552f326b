/** Header blocks on the wire: those that come in several frames are put together, within limits; ours are cut into frames. */
import { withoutPadding } from './frame-reader.ts'
import {
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  frame,
  Http2Error,
  MAX_FRAME_BYTES,
  writeFrameHeader,
} from './wire.ts'

/** Frames of one block: as many as a large head needs, where a peer fills them. */
const MAX_CONTINUATIONS = 128

export interface HeaderBlock {
  readonly streamId: number
  readonly isEnd: boolean
  readonly bytes: Buffer
}

const priorityBytes = 5

export class HeaderBlocks {
  readonly #maxBytes: number
  #streamId = 0
  #isEnd = false
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Until a block is complete nothing else may come on the whole connection. */
  get isIncomplete(): boolean {
    return this.#pieces.length > 0
  }

  /** Takes a HEADERS frame, and gives the block where it is complete with it. */
  begin(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    let piece = (flags & Flag.padded) === 0 ? payload : withoutPadding(payload)
    if ((flags & Flag.priority) !== 0) {
      if (piece.length < priorityBytes) throw new Http2Error(ErrorCode.frameSizeError, 'a HEADERS frame too short')
      piece = piece.subarray(priorityBytes)
    }
    const isEnd = (flags & Flag.endStream) !== 0
    if ((flags & Flag.endHeaders) !== 0) return { streamId, isEnd, bytes: piece }
    this.#streamId = streamId
    this.#isEnd = isEnd
    this.#add(piece)
    return undefined
  }

  /** Takes a CONTINUATION frame, and gives the block where it is complete with it. */
  continue(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    if (!this.isIncomplete || streamId !== this.#streamId)
      throw new Http2Error(ErrorCode.protocolError, 'a CONTINUATION of nothing')
    this.#add(payload)
    if ((flags & Flag.endHeaders) === 0) return undefined
    const block = { streamId, isEnd: this.#isEnd, bytes: Buffer.concat(this.#pieces) }
    this.#pieces = []
    this.#bytes = 0
    return block
  }

  /** A copy: the frame is valid only now. */
  #add(piece: Buffer): void {
    this.#pieces.push(Buffer.from(piece))
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes || this.#pieces.length > MAX_CONTINUATIONS)
      throw new Http2Error(ErrorCode.enhanceYourCalm, 'a head without end')
  }
}

/** One frame as a rule, and continuations where the block is too large. It has room for a frame header in front. */
export function headFrames(streamId: number, block: Buffer, isEnd: boolean): Iterable<Buffer> {
  const endStream = isEnd ? Flag.endStream : 0
  const payloadBytes = block.length - FRAME_HEADER_BYTES
  if (payloadBytes > MAX_FRAME_BYTES) return severalFrames(streamId, block.subarray(FRAME_HEADER_BYTES), endStream)
  writeFrameHeader(block, 0, payloadBytes, FrameType.headers, endStream | Flag.endHeaders, streamId)
  return [block]
}

function* severalFrames(streamId: number, block: Buffer, endStream: number): Generator<Buffer> {
  for (let offset = 0; offset < block.length; offset += MAX_FRAME_BYTES) {
    const piece = block.subarray(offset, offset + MAX_FRAME_BYTES)
    const type = offset === 0 ? FrameType.headers : FrameType.continuation
    const endHeaders = offset + piece.length === block.length ? Flag.endHeaders : 0
    const bytes = frame(type, (offset === 0 ? endStream : 0) | endHeaders, streamId, piece.length)
    piece.copy(bytes, FRAME_HEADER_BYTES)
    yield bytes
  }
}
