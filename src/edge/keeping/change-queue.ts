/**
 * What waits to be written, feed by feed: a later change joins an earlier one, so that the queue holds at most one thing to
 * do for each feed. Where it gets too large, because the disk is slower than the changes, the largest feed gives its part
 * back and is written whole later, from what its owner has then. Pure: nothing here writes.
 */
import type { KeptEntry, KeptHead } from './kept.ts'

/** What waits for the disk at most; also what one transaction holds at most. */
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024
/** What an entry costs here beside its bytes. */
const ENTRY_OVERHEAD_BYTES = 128

export type FeedWork =
  /** Ask the owner for all of it when its turn has come. */
  | { readonly kind: 'whole' }
  | {
      readonly kind: 'replace'
      readonly head: KeptHead
      readonly entries: ReadonlyMap<string, KeptEntry>
      readonly secret: boolean
    }
  | {
      readonly kind: 'change'
      readonly head: KeptHead
      readonly puts: ReadonlyMap<string, KeptEntry>
      readonly deletes: ReadonlySet<string>
      readonly secret: boolean
    }
  | { readonly kind: 'drop' }

export interface RecordName {
  readonly shelf: string
  readonly key: string
}

export interface QueuedWork {
  readonly feeds: ReadonlyMap<string, FeedWork>
  readonly records: Iterable<RecordName>
}

/** Work whose parts can still change. */
interface Pending {
  kind: FeedWork['kind']
  head: KeptHead
  readonly puts: Map<string, KeptEntry>
  readonly deletes: Set<string>
  secret: boolean
  bytes: number
}

export class ChangeQueue {
  #feeds = new Map<string, Pending>()
  #records = new Map<string, RecordName>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#feeds.size === 0 && this.#records.size === 0
  }

  whole(key: string): void {
    this.#set(key, pending('whole'))
  }

  drop(key: string): void {
    this.#set(key, pending('drop'))
  }

  replace(key: string, head: KeptHead, entries: Iterable<KeptEntry>, secret: boolean): void {
    const work = pending('replace', head, secret)
    this.#set(key, work)
    for (const entry of entries) this.#put(work, entry)
    this.#shrink()
  }

  change(key: string, head: KeptHead, puts: Iterable<KeptEntry>, deletes: Iterable<string>, secret: boolean): void {
    const work = this.#feeds.get(key) ?? pending('change', head, secret)
    this.#feeds.set(key, work)
    // Of a feed that was dropped only the owner knows what it is now.
    if (work.kind === 'drop') work.kind = 'whole'
    if (work.kind === 'whole') return
    work.head = head
    work.secret ||= secret
    for (const entry of puts) this.#put(work, entry)
    for (const each of deletes) this.#delete(work, each)
    this.#shrink()
  }

  /** A record has changed or gone; its value is looked up when it is written. */
  record(shelf: string, key: string): void {
    this.#records.set(JSON.stringify([shelf, key]), { shelf, key })
  }

  /** All of it; the queue is empty then. */
  take(): QueuedWork {
    const feeds = new Map([...this.#feeds].map(([key, work]) => [key, workOf(work)]))
    const records = this.#records.values()
    this.clear()
    return { feeds, records }
  }

  clear(): void {
    this.#feeds = new Map()
    this.#records = new Map()
    this.#bytes = 0
  }

  #set(key: string, work: Pending): void {
    this.#bytes -= this.#feeds.get(key)?.bytes ?? 0
    this.#feeds.set(key, work)
  }

  #put(work: Pending, entry: KeptEntry): void {
    this.#remove(work, entry.key)
    work.puts.set(entry.key, entry)
    this.#count(work, costOf(entry))
  }

  #delete(work: Pending, key: string): void {
    this.#remove(work, key)
    if (work.kind === 'replace') return
    work.deletes.add(key)
    this.#count(work, ENTRY_OVERHEAD_BYTES)
  }

  #remove(work: Pending, key: string): void {
    const earlier = work.puts.get(key)
    if (earlier !== undefined) this.#count(work, -costOf(earlier))
    work.puts.delete(key)
    if (work.deletes.delete(key)) this.#count(work, -ENTRY_OVERHEAD_BYTES)
  }

  #count(work: Pending, bytes: number): void {
    work.bytes += bytes
    this.#bytes += bytes
  }

  #shrink(): void {
    while (this.#bytes > MAX_QUEUED_BYTES) {
      let largest: [key: string, bytes: number] = ['', 0]
      for (const [key, { bytes }] of this.#feeds) if (bytes > largest[1]) largest = [key, bytes]
      this.whole(largest[0])
    }
  }
}

function pending(kind: FeedWork['kind'], head: KeptHead = {}, secret = false): Pending {
  return { kind, head, secret, puts: new Map(), deletes: new Set(), bytes: 0 }
}

function workOf({ kind, head, puts, deletes, secret }: Pending): FeedWork {
  switch (kind) {
    case 'replace':
      return { kind, head, entries: puts, secret }
    case 'change':
      return { kind, head, puts, deletes, secret }
    default:
      return { kind }
  }
}

function costOf({ bytes }: KeptEntry): number {
  return bytes.length + ENTRY_OVERHEAD_BYTES
}
