/**
 * The yamux wire as a table. Every frame starts with twelve bytes, big endian:
 *
 *   version u8 | type u8 | flags u16 | stream id u32 | length u32
 *
 * Only a data frame has a payload, of `length` bytes. In a window update `length` is the credit, in a ping an opaque value
 * that comes back, in a go-away the reason.
 */

/** Size of the header in front of every frame; the wire fixes it. */
export const FRAME_HEADER_BYTES = 12

/** The only version there is. */
export const YAMUX_VERSION = 0

/** What a stream may send before the first window update; the wire fixes it. */
export const INITIAL_WINDOW_BYTES = 256 * 1024

/** The largest credit a sender can hold: the wire counts in 32 bits. */
export const MAX_CREDIT_BYTES = 0xffff_ffff

/** The last stream id the wire can number; a session that has used it must be replaced. */
export const MAX_STREAM_ID = 0xffff_ffff

export const FrameType = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const

export const Flag = { syn: 1, ack: 2, fin: 4, rst: 8 } as const

/** Why a session goes away, as the wire numbers it. */
export const GoAwayCode = { normal: 0, protocolError: 1, internalError: 2 } as const
export type GoAwayReason = keyof typeof GoAwayCode

/** The reason a go-away frame carries, if it is one that has a name. */
export function goAwayReasonOf(code: number): GoAwayReason | undefined {
  if (code === GoAwayCode.normal) return 'normal'
  if (code === GoAwayCode.protocolError) return 'protocolError'
  return code === GoAwayCode.internalError ? 'internalError' : undefined
}
