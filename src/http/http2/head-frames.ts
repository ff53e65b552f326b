/** A header block on the wire: one frame as a rule, and continuations where it is too large. */
import { Flag, FRAME_HEADER_BYTES, FrameType, frame, MAX_FRAME_BYTES, writeFrameHeader } from './wire.ts'

/** The block has room for a frame header in front. */
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
