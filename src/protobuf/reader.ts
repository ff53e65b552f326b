/**
 * Reads protobuf wire values from one buffer. It never reads past `end` and never allocates by a length it was told:
 * a length is checked against the bytes that are there first.
 */
import { WireError } from './wire-error.ts'

export const WIRE_VARINT = 0
export const WIRE_FIXED64 = 1
export const WIRE_BYTES = 2
const WIRE_START_GROUP = 3
const WIRE_END_GROUP = 4
const WIRE_FIXED32 = 5

/** Groups are long dead, but a reader must be able to step over them; more nesting than this is an attack. */
const maxGroupDepth = 32

/** Up to this length the characters are put together here; beyond it a call into the runtime is cheaper. */
const shortStringBytes = 12

export class ProtoReader {
  readonly bytes: Buffer
  /** The next byte to read. */
  pos: number

  constructor(bytes: Uint8Array, pos = 0) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.pos = pos
  }

  /** A tag or a length. One that needs more than 32 bits means something else to somebody, so it is refused. */
  uint32(end: number): number {
    const bytes = this.bytes
    let pos = this.pos
    let result = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) throw truncated()
      const byte = bytes[pos++] as number
      if (shift < 28) result |= (byte & 0x7f) << shift
      else if (shift === 28 && (byte & 0x70) === 0) result |= byte << 28
      else if ((byte & 0x7f) !== 0) throw new WireError('malformed', 'a tag or a length has more than 32 bits')
      if (byte < 0x80) {
        this.pos = pos
        return result >>> 0
      }
    }
    throw new WireError('malformed', 'a varint has more than ten bytes')
  }

  /** The low 32 bits of a varint, as protobuf has it; negative numbers take ten bytes. */
  int32(end: number): number {
    const bytes = this.bytes
    let pos = this.pos
    let result = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) throw truncated()
      const byte = bytes[pos++] as number
      if (shift < 32) result |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        this.pos = pos
        return result | 0
      }
    }
    throw new WireError('malformed', 'a varint has more than ten bytes')
  }

  bool(end: number): boolean {
    return this.int64(end) !== 0
  }

  /** A number where that is exact, else a bigint. */
  int64(end: number): number | bigint {
    const bytes = this.bytes
    let pos = this.pos
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) throw truncated()
      const byte = bytes[pos++] as number
      if (shift < 28) low |= (byte & 0x7f) << shift
      else if (shift === 28) {
        low |= (byte & 0x0f) << 28
        high = (byte & 0x7f) >> 4
      } else high |= (byte & 0x7f) << (shift - 32)
      if (byte < 0x80) {
        this.pos = pos
        return joinWords(high, low)
      }
    }
    throw new WireError('malformed', 'a varint has more than ten bytes')
  }

  double(end: number): number {
    if (end - this.pos < 8) throw truncated()
    const value = this.bytes.readDoubleLE(this.pos)
    this.pos += 8
    return value
  }

  /** Reads a length and returns the position at which the value it announces ends. */
  lengthDelimited(end: number): number {
    const length = this.uint32(end)
    if (length > end - this.pos) throw truncated()
    return this.pos + length
  }

  /** The bytes up to `to` as UTF-8, with replacement characters for what is not. */
  string(to: number): string {
    const from = this.pos
    this.pos = to
    if (to - from <= shortStringBytes) {
      const short = shortAscii(this.bytes, from, to)
      if (short !== undefined) return short
    }
    return this.bytes.toString('utf8', from, to)
  }

  /** Steps over one value whose tag has just been read. */
  skip(wireType: number, end: number, depth = 0): void {
    switch (wireType) {
      case WIRE_VARINT:
        this.int32(end)
        return
      case WIRE_FIXED64:
        this.#advance(8, end)
        return
      case WIRE_BYTES:
        this.pos = this.lengthDelimited(end)
        return
      case WIRE_FIXED32:
        this.#advance(4, end)
        return
      case WIRE_START_GROUP:
        this.#skipGroup(end, depth + 1)
        return
      default:
        throw new WireError('malformed', `wire type ${wireType} does not exist here`)
    }
  }

  #advance(count: number, end: number): void {
    if (count > end - this.pos) throw truncated()
    this.pos += count
  }

  #skipGroup(end: number, depth: number): void {
    if (depth > maxGroupDepth) throw new WireError('too-deep', `groups nested deeper than ${maxGroupDepth}`)
    for (;;) {
      const wireType = this.uint32(end) & 7
      if (wireType === WIRE_END_GROUP) return
      this.skip(wireType, end, depth)
    }
  }
}

function joinWords(high: number, low: number): number | bigint {
  if (high === 0) return low >>> 0
  const value = high * 0x1_0000_0000 + (low >>> 0)
  if (Number.isSafeInteger(value)) return value
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

function shortAscii(bytes: Buffer, from: number, to: number): string | undefined {
  let text = ''
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (byte >= 0x80) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}

function truncated(): WireError {
  return new WireError('truncated', 'the message ends inside a value')
}
