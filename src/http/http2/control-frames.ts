/** The small frames that speak of the connection and its streams. */
import { FRAME_HEADER_BYTES, FrameType, frame } from './wire.ts'

export function windowUpdateFrame(streamId: number, bytes: number): Buffer {
  const update = frame(FrameType.windowUpdate, 0, streamId, 4)
  update.writeUInt32BE(bytes, FRAME_HEADER_BYTES)
  return update
}

export function resetFrame(streamId: number, code: number): Buffer {
  const reset = frame(FrameType.rstStream, 0, streamId, 4)
  reset.writeUInt32BE(code, FRAME_HEADER_BYTES)
  return reset
}

/** The payload has eight bytes. */
export function pingFrame(flags: number, payload: Buffer): Buffer {
  const ping = frame(FrameType.ping, flags, 0, 8)
  payload.copy(ping, FRAME_HEADER_BYTES)
  return ping
}

export function goAwayFrame(lastStreamId: number, code: number): Buffer {
  const goAway = frame(FrameType.goAway, 0, 0, 8)
  goAway.writeUInt32BE(lastStreamId, FRAME_HEADER_BYTES)
  goAway.writeUInt32BE(code, FRAME_HEADER_BYTES + 4)
  return goAway
}
