/**
 * Changes to a buffer, collected first and carried out at once: one allocation, one pass. They must be added from the
 * start of the buffer to its end and must not overlap.
 */

interface Splice {
  readonly start: number
  readonly end: number
  readonly bytes: Uint8Array
}

const nothing = new Uint8Array(0)

export class SpliceList {
  readonly #source: Buffer
  readonly #splices: Splice[] = []
  #growth = 0

  constructor(source: Buffer) {
    this.#source = source
  }

  /** Puts `bytes` in the place of `[start, end)`. What would change nothing is not recorded. */
  replace(start: number, end: number, bytes: Uint8Array): void {
    if (this.#source.compare(bytes, 0, bytes.length, start, end) === 0) return
    this.#splices.push({ start, end, bytes })
    this.#growth += bytes.length - (end - start)
  }

  remove(start: number, end: number): void {
    this.replace(start, end, nothing)
  }

  /**
   * Runs `change`, which may add splices within `[start, end)`; if they alter its length, the varint in front of it,
   * which begins at `lengthStart`, is written anew.
   */
  withinLength(lengthStart: number, start: number, end: number, change: () => void): void {
    const [count, growth] = [this.#splices.length, this.#growth]
    change()
    if (this.#growth === growth) return
    const length = varint(end - start + this.#growth - growth)
    this.#splices.splice(count, 0, { start: lengthStart, end: start, bytes: length })
    this.#growth += length.length - (start - lengthStart)
  }

  /** The changed buffer, or undefined if there is no change. */
  apply(): Buffer | undefined {
    if (this.#splices.length === 0) return undefined
    const source = this.#source
    const result = Buffer.allocUnsafe(source.length + this.#growth)
    let [from, to] = [0, 0]
    for (const { start, end, bytes } of this.#splices) {
      to += source.copy(result, to, from, start)
      result.set(bytes, to)
      to += bytes.length
      from = end
    }
    source.copy(result, to, from)
    return result
  }
}

export function varint(value: number): Uint8Array {
  const bytes: number[] = []
  while (value > 0x7f) {
    bytes.push((value & 0x7f) | 0x80)
    value >>>= 7
  }
  bytes.push(value)
  return new Uint8Array(bytes)
}

/** A view of the same memory, for code that needs Buffer's methods. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
