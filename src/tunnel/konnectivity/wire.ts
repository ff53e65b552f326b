/** A walk over the fields of one of konnectivity's messages, which may not have many. */
import { ProtoReader, WIRE_BYTES, WIRE_VARINT } from '../../protobuf/reader.ts'

/** The peer sent something that is no message of the protocol. */
export class PacketError extends Error {
  override readonly name = 'PacketError'
}

/** Fields of a packet, or of what it carries. The longest has three; a later version may have some more. */
export const MAX_PACKET_FIELDS = 64

/** Throws a `PacketError`, or a `WireError` where the bytes are no protobuf at all. */
export class FieldReader {
  readonly #reader: ProtoReader
  readonly #end: number
  #wireType = 0
  #fields = 0

  constructor(bytes: Buffer) {
    this.#reader = new ProtoReader(bytes)
    this.#end = bytes.length
  }

  /** The number of the next field, or 0 at the end. Its value must be taken, or skipped, before the next call. */
  next(): number {
    if (this.#reader.pos >= this.#end) return 0
    const tag = this.#reader.uint32(this.#end)
    const field = tag >>> 3
    this.#wireType = tag & 7
    if (field === 0) throw new PacketError('a field with the number 0')
    this.#fields += 1
    if (this.#fields > MAX_PACKET_FIELDS) throw new PacketError(`more than ${MAX_PACKET_FIELDS} fields`)
    return field
  }

  /** Reads a type or an id. */
  integer(): number {
    const value = this.#varint()
    if (typeof value === 'bigint' || value < 0)
      throw new PacketError(`the number ${BigInt.asUintN(64, BigInt(value))} is too large`)
    return value
  }

  /** All 64 bits, without a sign. */
  bits64(): bigint {
    return BigInt.asUintN(64, BigInt(this.#varint()))
  }

  bytes(): Buffer {
    this.#expect(WIRE_BYTES)
    const to = this.#reader.lengthDelimited(this.#end)
    const block = this.#reader.bytes.subarray(this.#reader.pos, to)
    this.#reader.pos = to
    return block
  }

  text(): string {
    return this.bytes().toString()
  }

  skip(): void {
    this.#reader.skip(this.#wireType, this.#end)
  }

  #varint(): number | bigint {
    this.#expect(WIRE_VARINT)
    return this.#reader.int64(this.#end)
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) throw new PacketError(`wire type ${this.#wireType} where ${wireType} was expected`)
  }
}
