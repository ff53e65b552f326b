/** As much of the protobuf encoding as konnectivity's eight messages need. */

/** The peer sent something that is no message of the protocol. */
export class PacketError extends Error {
  override readonly name = 'PacketError'
}

/** Fields of a packet, or of what it carries. The longest has three; a later version may have some more. */
export const MAX_PACKET_FIELDS = 64

const WireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const
/** Ten bytes carry 64 bits; an eleventh would mean nothing. */
const maxVarintBytes = 10

export class FieldReader {
  readonly #bytes: Buffer
  #offset = 0
  #wireType = 0
  #fields = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The number of the next field, or 0 at the end. Its value must be taken, or skipped, before the next call. */
  next(): number {
    if (this.#offset >= this.#bytes.length) return 0
    const key = this.#integer()
    const field = Math.floor(key / 8)
    this.#wireType = key % 8
    if (field === 0) throw new PacketError('a field with the number 0')
    this.#fields += 1
    if (this.#fields > MAX_PACKET_FIELDS) throw new PacketError(`more than ${MAX_PACKET_FIELDS} fields`)
    return field
  }

  /** For lengths, types and ids. */
  integer(): number {
    this.#expect(WireType.varint)
    return this.#integer()
  }

  /** All 64 bits, without a sign. */
  bits64(): bigint {
    this.#expect(WireType.varint)
    return this.#varint()
  }

  bytes(): Buffer {
    this.#expect(WireType.bytes)
    return this.#block(this.#integer())
  }

  text(): string {
    return this.bytes().toString()
  }

  skip(): void {
    switch (this.#wireType) {
      case WireType.varint:
        this.#varint()
        return
      case WireType.fixed64:
        this.#block(8)
        return
      case WireType.bytes:
        this.#block(this.#integer())
        return
      case WireType.fixed32:
        this.#block(4)
        return
      default:
        throw new PacketError(`a field with the unknown wire type ${this.#wireType}`)
    }
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) throw new PacketError(`wire type ${this.#wireType} where ${wireType} was expected`)
  }

  #block(length: number): Buffer {
    const end = this.#offset + length
    if (end > this.#bytes.length) throw new PacketError('a field that is longer than its message')
    const block = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return block
  }

  #integer(): number {
    const first = this.#bytes[this.#offset] ?? 0x80
    if (first < 0x80) {
      this.#offset++
      return first
    }
    const value = this.#varint()
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new PacketError(`the number ${value} is too large`)
    return Number(value)
  }

  #varint(): bigint {
    let value = 0n
    for (let index = 0; index < maxVarintBytes; index++) {
      const byte = this.#bytes[this.#offset++]
      if (byte === undefined) throw new PacketError('the message ends inside a number')
      value |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new PacketError('a number of more than ten bytes')
  }
}

/** Fields with the default value are left out, as proto3 does. */
export class FieldWriter {
  readonly #bytes: number[] = []

  number(field: number, value: number | bigint): this {
    if (value === 0 || value === 0n) return this
    this.#bytes.push(field * 8 + WireType.varint)
    this.#varint(value)
    return this
  }

  text(field: number, value: string): this {
    if (value === '') return this
    return this.block(field, Buffer.from(value))
  }

  /** A message inside a message, which is written even if it is empty. */
  block(field: number, bytes: Uint8Array): this {
    this.blockHead(field, bytes.length)
    this.#bytes.push(...bytes)
    return this
  }

  /** Announces bytes that the caller sends itself. */
  blockHead(field: number, length: number): this {
    this.#bytes.push(field * 8 + WireType.bytes)
    this.#varint(length)
    return this
  }

  finish(): Buffer {
    return Buffer.from(this.#bytes)
  }

  #varint(value: number | bigint): void {
    let rest = BigInt(value)
    while (rest > 0x7fn) {
      this.#bytes.push(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    this.#bytes.push(Number(rest))
  }
}
