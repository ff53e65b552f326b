/**
 * The two things a header block is made of, integers and strings (RFC 7541, 5), read one after the other. Every length is
 * held against what is left before anything is read or reserved.
 */
import { HpackError } from './hpack-error.ts'
import { decodeHuffman } from './huffman.ts'

/** An integer may go on for this many bytes, so it stays below 2^28 and a bit; no honest length or index is longer. */
const MAX_INTEGER_EXTRA_BYTES = 4

const nothing = Buffer.alloc(0)

export class BlockReader {
  #block: Buffer = nothing
  #at = 0
  #end = 0

  open(block: Buffer): void {
    this.#block = block
    this.#at = 0
    this.#end = block.length
  }

  /** Lets go of the block's memory. */
  close(): void {
    this.#block = nothing
    this.#at = 0
    this.#end = 0
  }

  get hasMore(): boolean {
    return this.#at < this.#end
  }

  byte(): number {
    if (this.#at >= this.#end) throw truncated()
    return this.#block[this.#at++] as number
  }

  /** The integer that begins in `firstByte`, already read, in the bits of `prefixMask`. */
  integer(firstByte: number, prefixMask: number): number {
    const prefix = firstByte & prefixMask
    return prefix < prefixMask ? prefix : this.#longInteger(prefix)
  }

  #longInteger(prefix: number): number {
    let value = prefix
    for (let extra = 0; extra < MAX_INTEGER_EXTRA_BYTES; extra++) {
      const byte = this.byte()
      value += (byte & 0x7f) << (7 * extra)
      if (byte < 0x80) return value
    }
    throw new HpackError(`an integer goes on for more than ${MAX_INTEGER_EXTRA_BYTES} bytes`)
  }

  string(): string {
    const first = this.byte()
    const bytes = this.integer(first, 0x7f)
    const start = this.#at
    if (bytes > this.#end - start) {
      throw new HpackError(`a string of ${bytes} bytes is announced where only ${this.#end - start} follow`)
    }
    this.#at = start + bytes
    if (bytes === 0) return ''
    if (first >= 0x80) return decodeHuffman(this.#block, start, start + bytes)
    return this.#block.toString('latin1', start, start + bytes)
  }
}

function truncated(): HpackError {
  return new HpackError('the header block ends in the middle of a field')
}
