/**
 * Writes protobuf backwards, from the end of a buffer to its start: when a nested message is done its length is known,
 * so nothing is measured twice or moved. Callers therefore write the last field first and a value before its tag.
 */
import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from './reader.ts'

const initialBytes = 16 * 1024
/** A writer that has grown beyond this is not kept for the next object. */
const maxKeptBytes = 4 * 1024 * 1024
/** Up to this length characters are copied here; beyond it a call into the runtime is cheaper. */
const shortStringCharacters = 40

export class BackwardWriter {
  #buffer: Buffer
  /** Index of the first written byte; everything from here to the end of the buffer is output. */
  #start: number

  constructor(capacityBytes = initialBytes) {
    this.#buffer = Buffer.allocUnsafe(capacityBytes)
    this.#start = capacityBytes
  }

  /** Bytes written so far: the difference of two readings is the length of what was written between them. */
  get length(): number {
    return this.#buffer.length - this.#start
  }

  /** A copy of the output; the writer can be used again after `reset`. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#start))
  }

  reset(): void {
    this.#start = this.#buffer.length
  }

  tag(number: number, wireType: number): void {
    this.uint32(((number << 3) | wireType) >>> 0)
  }

  uint32(value: number): void {
    const start = this.#reserve(varintLength(value))
    let pos = start
    while (value > 0x7f) {
      this.#buffer[pos++] = (value & 0x7f) | 0x80
      value >>>= 7
    }
    this.#buffer[pos] = value
  }

  /** Any integer of 64 bits; negative ones take ten bytes, as protobuf has it. */
  int64(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= 0xffff_ffff) {
      this.uint32(value)
      return
    }
    let rest = BigInt.asUintN(64, BigInt(value))
    const encoded: number[] = []
    while (rest > 0x7fn) {
      encoded.push(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    encoded.push(Number(rest))
    const start = this.#reserve(encoded.length)
    this.#buffer.set(encoded, start)
  }

  double(value: number): void {
    const start = this.#reserve(8)
    this.#buffer.writeDoubleLE(value, start)
  }

  bytes(value: Uint8Array): void {
    const start = this.#reserve(value.length)
    this.#buffer.set(value, start)
  }

  utf8(text: string): void {
    if (text.length <= shortStringCharacters && this.#ascii(text)) return
    const start = this.#reserve(Buffer.byteLength(text))
    this.#buffer.write(text, start)
  }

  #ascii(text: string): boolean {
    const start = this.#reserve(text.length)
    const buffer = this.#buffer
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code >= 0x80) {
        this.#start += text.length
        return false
      }
      buffer[start + index] = code
    }
    return true
  }

  get capacityBytes(): number {
    return this.#buffer.length
  }

  /** The tag and value of a varint field. */
  varintField(number: number, value: number | bigint): void {
    this.int64(value)
    this.tag(number, WIRE_VARINT)
  }

  doubleField(number: number, value: number): void {
    this.double(value)
    this.tag(number, WIRE_FIXED64)
  }

  stringField(number: number, text: string): void {
    const before = this.length
    this.utf8(text)
    this.closeField(number, before)
  }

  bytesField(number: number, value: Uint8Array): void {
    this.bytes(value)
    this.uint32(value.length)
    this.tag(number, WIRE_BYTES)
  }

  /** Puts length and tag in front of what was written since `lengthBefore`. */
  closeField(number: number, lengthBefore: number): void {
    this.uint32(this.length - lengthBefore)
    this.tag(number, WIRE_BYTES)
  }

  /** Makes room for `count` bytes in front of the output and returns where they go. */
  #reserve(count: number): number {
    if (this.#start < count) this.#grow(count)
    this.#start -= count
    return this.#start
  }

  #grow(count: number): void {
    const used = this.length
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + count))
    this.#buffer.copy(larger, larger.length - used, this.#start)
    this.#start = larger.length - used
    this.#buffer = larger
  }
}

let idleWriter: BackwardWriter | undefined

/** A writer to use and give back; its buffer outlives one object. */
export function borrowWriter(): BackwardWriter {
  const writer = idleWriter ?? new BackwardWriter()
  idleWriter = undefined
  return writer
}

export function returnWriter(writer: BackwardWriter): void {
  if (writer.capacityBytes > maxKeptBytes) return
  writer.reset()
  idleWriter = writer
}

function varintLength(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  return value < 0x1000_0000 ? 4 : 5
}
