/** Writes small messages from front to back, for values that the caller sends on itself; fields with the default value are left out, as proto3 does. */
import { WIRE_BYTES, WIRE_VARINT } from './reader.ts'

export class ForwardWriter {
  readonly #bytes: number[] = []

  number(field: number, value: number | bigint): this {
    if (value === 0 || value === 0n) return this
    this.#bytes.push(field * 8 + WIRE_VARINT)
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
    this.#bytes.push(field * 8 + WIRE_BYTES)
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
