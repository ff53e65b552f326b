/**
 * Bytes waiting, as the chunks they came in. A chunk that is small, or a small part of the memory behind it, is copied into
 * a block of its own kind when it has to wait: otherwise a peer could pin megabytes, or a million small objects, with a
 * stream of single bytes that nobody reads.
 */

/** Chunks below this are packed together while they wait, whatever memory they belong to. */
const PACK_BELOW_BYTES = 512

/** A waiting chunk may pin this many times its own size; above it is copied out. */
const MAX_PINNED_RATIO = 4

/** Packing blocks start at this size, so that one waiting byte costs little. */
const FIRST_PACK_BLOCK_BYTES = 1024

/** Packing blocks double up to this size. */
const MAX_PACK_BLOCK_BYTES = 16 * 1024

const none = Buffer.alloc(0)

export class ByteQueue {
  #chunks: Uint8Array[] = []
  #head = 0
  #bytes = 0
  #block: Buffer = none
  #blockStart = 0
  #blockEnd = 0
  /** Whether the last chunk is the part of the block from `#blockStart` on, so that more can be added to it. */
  #tailIsBlock = false

  get bytes(): number {
    return this.#bytes
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    if (this.#bytes > 0 && isWasteful(chunk)) this.#pack(chunk)
    else {
      this.#chunks.push(chunk)
      this.#tailIsBlock = false
    }
    this.#bytes += chunk.length
  }

  /** To be called when what was pushed last stays: a single small chunk is copied out too. */
  settle(): void {
    if (this.#tailIsBlock || this.#bytes === 0) return
    const last = this.#chunks[this.#chunks.length - 1]
    if (last === undefined || !isWasteful(last)) return
    this.#chunks.pop()
    this.#pack(last)
  }

  /** The next chunk, whole. */
  shift(): Uint8Array | undefined {
    const chunk = this.#chunks[this.#head]
    if (chunk === undefined) return undefined
    this.#dropHead()
    this.#bytes -= chunk.length
    return chunk
  }

  /** Moves the first `bytes` bytes to `out`, cutting a chunk where needed. */
  gather(bytes: number, out: Uint8Array[]): void {
    let left = bytes
    while (left > 0) {
      const chunk = this.#chunks[this.#head]
      if (chunk === undefined) return
      if (chunk.length <= left) {
        out.push(chunk)
        left -= chunk.length
        this.#bytes -= chunk.length
        this.#dropHead()
      } else {
        out.push(chunk.subarray(0, left))
        this.#chunks[this.#head] = chunk.subarray(left)
        if (this.#tailIsBlock && this.#head === this.#chunks.length - 1) this.#blockStart += left
        this.#bytes -= left
        return
      }
    }
  }

  clear(): void {
    this.#chunks = []
    this.#head = 0
    this.#bytes = 0
    this.#block = none
    this.#tailIsBlock = false
  }

  #dropHead(): void {
    this.#head += 1
    if (this.#head === this.#chunks.length) {
      this.#chunks.length = 0
      this.#head = 0
      this.#tailIsBlock = false
    } else if (this.#head >= 64 && this.#head * 2 >= this.#chunks.length) {
      this.#chunks.splice(0, this.#head)
      this.#head = 0
    }
  }

  #pack(chunk: Uint8Array): void {
    if (this.#block.length - this.#blockEnd < chunk.length) this.#newBlock(chunk.length)
    if (this.#tailIsBlock) this.#chunks.pop()
    else this.#blockStart = this.#blockEnd
    this.#block.set(chunk, this.#blockEnd)
    this.#blockEnd += chunk.length
    this.#chunks.push(this.#block.subarray(this.#blockStart, this.#blockEnd))
    this.#tailIsBlock = true
  }

  #newBlock(atLeastBytes: number): void {
    const grown = Math.min(MAX_PACK_BLOCK_BYTES, Math.max(FIRST_PACK_BLOCK_BYTES, this.#block.length * 2))
    this.#block = Buffer.allocUnsafeSlow(Math.max(grown, atLeastBytes))
    this.#blockStart = 0
    this.#blockEnd = 0
    this.#tailIsBlock = false
  }
}

function isWasteful(chunk: Uint8Array): boolean {
  return chunk.length < PACK_BELOW_BYTES || chunk.length * MAX_PINNED_RATIO < chunk.buffer.byteLength
}
