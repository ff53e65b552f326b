/** One direction of a cable: what was put in comes out in the same order, each piece not before its time. */

export type LineItem =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** No more bytes come. */
  | { readonly kind: 'end' }
  /** Whoever put it in has gone, after an error or not. */
  | { readonly kind: 'close'; readonly error: Error | undefined }

interface Held {
  readonly item: LineItem
  readonly dueMs: number
}

export class DelayLine {
  readonly #held: Held[] = []
  #bytes = 0

  get heldBytes(): number {
    return this.#bytes
  }

  /** When the next piece may come out; it may be over. */
  get dueMs(): number | undefined {
    return this.#held[0]?.dueMs
  }

  put(item: LineItem, dueMs: number): void {
    this.#held.push({ item, dueMs })
    this.#bytes += lengthOf(item)
  }

  /** The next piece if its time has come, left where it is. One that would be faster than its predecessor waits for it. */
  peek(nowMs: number): LineItem | undefined {
    const [first] = this.#held
    return first === undefined || first.dueMs > nowMs ? undefined : first.item
  }

  take(nowMs: number): LineItem | undefined {
    const item = this.peek(nowMs)
    if (item === undefined) return undefined
    this.#held.shift()
    this.#bytes -= lengthOf(item)
    return item
  }

  clear(): void {
    this.#held.length = 0
    this.#bytes = 0
  }
}

function lengthOf(item: LineItem): number {
  return item.kind === 'bytes' ? item.bytes.length : 0
}
