/**
 * The present objects of one resource and their recent changes, in memory. Reads are answered and watches are fed from
 * here; the store is asked only for the past.
 *
 * Invariant: `items` is the state of the store at `revision`, and `recent` holds every change after `recentFrom`, up to
 * and including `revision`, in order.
 */
import type { ChangeBatch } from '../storage/store.ts'
import { Item } from './item.ts'

/** A change of one object. Exactly one of the two may be absent. */
export interface ItemChange {
  readonly revision: number
  readonly before: Item | undefined
  readonly after: Item | undefined
}

/** Changes kept for watches that start a little in the past; older ones come from the store. */
export const MAX_RECENT_CHANGES = 2_000

export interface CollectionListener {
  /** Called for each change in order, synchronously: it must not throw and must not wait. */
  changed(change: ItemChange): void
}

export class Collection {
  readonly #items = new Map<string, Item>()
  readonly #listeners = new Set<CollectionListener>()
  #sortedKeys: string[] | undefined
  #recent: ItemChange[] = []
  #recentFrom: number
  #revision: number

  constructor(items: Iterable<Item>, revision: number) {
    for (const item of items) this.#items.set(item.key, item)
    this.#revision = revision
    this.#recentFrom = revision
  }

  get revision(): number {
    return this.#revision
  }

  /** Changes after this revision are in memory. */
  get recentFrom(): number {
    return this.#recentFrom
  }

  get(key: string): Item | undefined {
    return this.#items.get(key)
  }

  get size(): number {
    return this.#items.size
  }

  /** The items whose keys start with the prefix, in key order, from after a key on. */
  list(prefix: string, after = ''): Item[] {
    this.#sortedKeys ??= [...this.#items.keys()].sort()
    const keys = this.#sortedKeys
    const items: Item[] = []
    const from = after > prefix ? after : prefix
    for (let index = firstNotBefore(keys, from); index < keys.length; index++) {
      const key = keys[index] as string
      if (!key.startsWith(prefix)) break
      if (key !== after) items.push(this.#items.get(key) as Item)
    }
    return items
  }

  /** The changes after a revision that is not before `recentFrom`. */
  changesAfter(revision: number): ItemChange[] {
    const first = this.#recent.findIndex((change) => change.revision > revision)
    return first === -1 ? [] : this.#recent.slice(first)
  }

  /** Registers and returns a function that takes the listener away again. */
  listen(listener: CollectionListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes in what the store reports for this collection; the revision is reached even if nothing changed here. */
  apply({ changes, revision }: ChangeBatch): void {
    for (const { key, entry, revision: changedAt } of changes) {
      const before = this.#items.get(key)
      const after = entry === undefined ? undefined : Item.fromEntry(entry)
      if (before === undefined && after === undefined) continue
      this.#put(key, before, after)
      this.#tell({ revision: changedAt, before, after })
    }
    this.#revision = revision
  }

  #put(key: string, before: Item | undefined, after: Item | undefined): void {
    if (after === undefined) this.#items.delete(key)
    else this.#items.set(key, after)
    if (before === undefined || after === undefined) this.#sortedKeys = undefined
  }

  #tell(change: ItemChange): void {
    this.#recent.push(change)
    // Cut in large steps: moving thousands of entries for each change would be quadratic.
    if (this.#recent.length > MAX_RECENT_CHANGES * 2) {
      const forgotten = this.#recent.splice(0, this.#recent.length - MAX_RECENT_CHANGES)
      this.#recentFrom = forgotten.at(-1)?.revision ?? this.#recentFrom
    }
    for (const listener of this.#listeners) listener.changed(change)
  }
}

/** The index of the first key that is not smaller, by halving. */
function firstNotBefore(keys: readonly string[], wanted: string): number {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as string) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
