/**
 * The present objects of one resource and their recent changes, in memory. Reads are answered and watches are fed from
 * here; the store is asked only for the past.
 *
 * Invariant: `items` is the state of the store at `revision`, and `recent` holds every change after `recentFrom`, up to
 * and including `revision`, in order.
 */

import { Item } from '../objects/item.ts'
import type { ChangeBatch } from '../storage/store.ts'

/** A change of one object. Exactly one of the two may be absent. */
export interface ItemChange {
  readonly revision: number
  readonly before: Item | undefined
  readonly after: Item | undefined
}

/** Changes kept for watches that start a little in the past, or are behind; older ones come from the store. */
export const MAX_RECENT_CHANGES = 2_000
/** Objects of the recent changes together, where these are large. */
const MAX_RECENT_BYTES = 64 * 1024 * 1024

export interface CollectionListener {
  /** Called for each change in order, synchronously: it must not throw and must not wait. */
  changed(change: ItemChange): void
}

export class Collection {
  readonly #items = new Map<string, Item>()
  readonly #listeners = new Set<CollectionListener>()
  /** In key order. */
  #sorted: Item[] | undefined
  #recent: ItemChange[] = []
  #recentBytes = 0
  /** How many changes there were before the first of `recent`. */
  #forgotten = 0
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
    this.#sorted ??= [...this.#items.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
    const items = this.#sorted
    const start = firstAt(items, (key) => key >= prefix && key > after)
    const end = firstAt(items, (key) => key > prefix && !key.startsWith(prefix))
    return items.slice(start, Math.max(start, end))
  }

  /** Where the next change will stand among all that there ever were. */
  get position(): number {
    return this.#forgotten + this.#recent.length
  }

  /** Where the first change after a revision stands that is not before `recentFrom`. */
  positionAfter(revision: number): number {
    const first = this.#recent.findIndex((change) => change.revision > revision)
    return first === -1 ? this.position : this.#forgotten + first
  }

  /** Whether a change that once stood here is in memory no more. */
  hasForgotten(position: number): boolean {
    return position < this.#forgotten
  }

  /** undefined where there is none yet. */
  changeAt(position: number): ItemChange | undefined {
    return this.#recent[position - this.#forgotten]
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
    if (this.#sorted === undefined) return
    const index = firstAt(this.#sorted, (other) => other >= key)
    this.#sorted.splice(index, before === undefined ? 0 : 1, ...(after === undefined ? [] : [after]))
  }

  #tell(change: ItemChange): void {
    this.#recent.push(change)
    this.#recentBytes += bytesOf(change)
    // Cut in large steps: moving thousands of entries for each change would be quadratic.
    if (this.#recent.length > MAX_RECENT_CHANGES * 2) this.#forget(this.#recent.length - MAX_RECENT_CHANGES)
    if (this.#recentBytes > MAX_RECENT_BYTES) this.#forget(Math.ceil(this.#recent.length / 2))
    for (const listener of this.#listeners) listener.changed(change)
  }

  #forget(count: number): void {
    const forgotten = this.#recent.splice(0, count)
    this.#forgotten += forgotten.length
    this.#recentFrom = forgotten.at(-1)?.revision ?? this.#recentFrom
    for (const change of forgotten) this.#recentBytes -= bytesOf(change)
  }
}

/** The state before is that after an earlier change, or was there from the start. */
function bytesOf({ before, after }: ItemChange): number {
  return (after ?? before)?.json.length ?? 0
}

/** The index of the first item whose key is one that `isBehind`, by halving: all that come later must be so too. */
function firstAt(items: readonly Item[], isBehind: (key: string) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBehind((items[middle] as Item).key)) high = middle
    else low = middle + 1
  }
  return low
}
