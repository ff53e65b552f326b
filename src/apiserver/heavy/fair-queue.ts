/** Waiting work of several callers: each in its order, and the callers in turn, so that nobody waits behind all of another's. */
export class FairQueue<Item> {
  readonly #waiting = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How much of it is this caller's. */
  sizeOf(caller: string): number {
    return this.#waiting.get(caller)?.length ?? 0
  }

  push(caller: string, item: Item): void {
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, [item])
    else own.push(item)
    this.#size += 1
  }

  /** The first of the caller whose turn it is; the caller stands last then. */
  shift(): Item | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [caller, items] = next
    this.#waiting.delete(caller)
    const item = items.shift()
    if (items.length > 0) this.#waiting.set(caller, items)
    this.#size -= 1
    return item
  }

  remove(caller: string, item: Item): void {
    const own = this.#waiting.get(caller)
    const index = own?.indexOf(item) ?? -1
    if (own === undefined || index === -1) return
    own.splice(index, 1)
    this.#size -= 1
    if (own.length === 0) this.#waiting.delete(caller)
  }
}
