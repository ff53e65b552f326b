/**
 * What has come for a stream that nobody reads at the moment; the window of the stream is its limit. Pieces are parts of
 * larger chunks that would stay in memory with them: those that weigh less than what they hold are copied together.
 */

/** Copied pieces are put together up to as many bytes. */
const maxBlockBytes = 16 * 1024
/** Places of pieces that were taken, before the list is closed up. */
const maxGaps = 32

const taken = Buffer.alloc(0)

export class ReceivedPieces {
  #pieces: Buffer[] = []
  #first = 0
  /** Holds the last piece, and has room behind it for more; undefined where the last piece was not copied. */
  #block: Buffer | undefined

  get isEmpty(): boolean {
    return this.#first === this.#pieces.length
  }

  add(piece: Buffer): void {
    if (piece.length * 2 < piece.buffer.byteLength) this.#copy(piece)
    else {
      this.#pieces.push(piece)
      this.#block = undefined
    }
  }

  take(): Buffer | undefined {
    const piece = this.#pieces[this.#first]
    if (piece === undefined) return undefined
    this.#pieces[this.#first] = taken
    this.#first += 1
    if (this.isEmpty) this.clear()
    else if (this.#first > maxGaps && this.#first * 2 > this.#pieces.length) {
      this.#pieces.splice(0, this.#first)
      this.#first = 0
    }
    return piece
  }

  clear(): void {
    this.#pieces = []
    this.#first = 0
    this.#block = undefined
  }

  #copy(piece: Buffer): void {
    const last = this.#block === undefined ? undefined : this.#pieces.at(-1)
    const bytes = (last?.length ?? 0) + piece.length
    if (last === undefined || bytes > maxBlockBytes) {
      this.#block = ownCopy(piece, piece.length)
      this.#pieces.push(this.#block)
      return
    }
    let block = this.#block as Buffer
    if (bytes > block.length) block = ownCopy(last, Math.min(maxBlockBytes, bytes * 2))
    piece.copy(block, last.length)
    this.#block = block
    this.#pieces[this.#pieces.length - 1] = block.subarray(0, bytes)
  }
}

/** In memory that is not shared with anything else. */
function ownCopy(piece: Buffer, capacityBytes: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(capacityBytes)
  piece.copy(copy)
  return copy
}
