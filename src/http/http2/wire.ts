/** Numbers and shapes of HTTP/2 (RFC 9113) on the wire. */

/** What a client sends first. */
export const CLIENT_PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** Before every payload: its length, kind, flags and stream. */
export const FRAME_HEADER_BYTES = 9
/** The least that every peer must take, and what we take: small frames let streams share a connection. */
export const MAX_FRAME_BYTES = 16_384
/** Window of a connection and of each stream before anybody says otherwise. */
export const DEFAULT_WINDOW_BYTES = 65_535
/** A window that would grow beyond is an error. */
export const MAX_WINDOW_BYTES = 2 ** 31 - 1
/** No stream has a higher number. */
export const MAX_STREAM_ID = 2 ** 31 - 1

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const Flag = {
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const

const errorNames: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
]

export function errorName(code: number): string {
  return errorNames[code] ?? `error ${code}`
}

/** The connection cannot go on: one side has broken the protocol, or asks too much. */
export class Http2Error extends Error {
  override readonly name = 'Http2Error'
  readonly code: number

  constructor(code: number, message: string) {
    super(`${message} (HTTP/2 ${errorName(code)})`)
    this.code = code
  }
}

/** A frame with room for its payload, which the caller fills in. */
export function frame(type: number, flags: number, streamId: number, payloadBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payloadBytes)
  writeFrameHeader(bytes, 0, payloadBytes, type, flags, streamId)
  return bytes
}

export function writeFrameHeader(
  target: Buffer,
  offset: number,
  payloadBytes: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  target[offset] = payloadBytes >>> 16
  target[offset + 1] = payloadBytes >>> 8
  target[offset + 2] = payloadBytes
  target[offset + 3] = type
  target[offset + 4] = flags
  target[offset + 5] = streamId >>> 24
  target[offset + 6] = streamId >>> 16
  target[offset + 7] = streamId >>> 8
  target[offset + 8] = streamId
}

export function readUint31(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset) & 0x7fff_ffff
}
