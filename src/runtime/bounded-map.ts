/**
 * A map that holds so many entries and no more: beyond that it forgets the one that was set or used longest ago. Reading with
 * `get` is no use of an entry, so a map that nobody calls `use` on forgets in the order in which its entries came.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #maxEntries: number
  readonly #forgotten: ((key: K, value: V) => void) | undefined

  /** `forgotten` hears of what had to make room, and of nothing that was deleted. */
  constructor(maxEntries: number, forgotten?: (key: K, value: V) => void) {
    this.#maxEntries = maxEntries
    this.#forgotten = forgotten
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** As `get`, and the entry is now the last to be forgotten. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined && this.#entries.delete(key)) this.#entries.set(key, value)
    return value
  }

  /** The entry is the last to be forgotten, also where it was there before. */
  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#maxEntries) this.#forgetFirst()
  }

  /** Whether it was there. */
  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  #forgetFirst(): void {
    for (const [key, value] of this.#entries) {
      this.#entries.delete(key)
      this.#forgotten?.(key, value)
      return
    }
  }
}
