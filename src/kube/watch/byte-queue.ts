/**
 * Collects the pieces of one frame. Every byte is copied a bounded number of times, however small the pieces are, and
 * the memory held stays within twice the bytes that arrived.
 */
const firstCapacityBytes = 256

export class ByteQueue {
  #bytes = new Uint8Array(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  append(piece: Uint8Array): void {
    this.#reserve(this.#length + piece.length)
    this.#bytes.set(piece, this.#length)
    this.#length += piece.length
  }

  /** Everything collected with `last` behind it, and starts anew. Without earlier pieces it is `last` itself, uncopied. */
  takeWith(last: Uint8Array): Uint8Array {
    if (this.#length === 0) return last
    this.append(last)
    const whole = this.#bytes.subarray(0, this.#length)
    this.#bytes = new Uint8Array(0)
    this.#length = 0
    return whole
  }

  #reserve(neededBytes: number): void {
    if (neededBytes <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(firstCapacityBytes, neededBytes, this.#length * 2))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
