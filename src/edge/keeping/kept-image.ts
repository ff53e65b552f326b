/**
 * What is in the file that is being written, as far as one must know it to change it: the number of each feed, and the
 * checksums of its entries. It turns work into rows. If writing them fails, file and image are both given up.
 */
import { addToDigest, encodeEntry, encodeHead, MAX_ENTRY_BYTES, removeFromDigest } from './feed-rows.ts'
import type { FeedState, KeptEntry, KeptHead, KeptRecord } from './kept.ts'
import { KEPT_FORMAT } from './kept-reader.ts'
import type { RowWrite } from './lmdb/tree-writer.ts'
import { entryRowKey, FORMAT_ROW_KEY, fitsRowKey, headRowKey, MAX_FEED_NUMBER, recordRowKey } from './row-keys.ts'
import { checksumOf, encodeRow, NoKeyError, placeOf } from './row-values.ts'
import type { SecretBox } from './secret-box.ts'

/** All that is kept, without what LMDB needs for itself: at most half of the file, which is copied on write. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024

/** Why a feed or a record is not kept; the rest is. */
export type UnkeptReason = 'too-large' | 'long-name' | 'no-key'

export class UnkeptError extends Error {
  override readonly name = 'UnkeptError'
  readonly reason: UnkeptReason

  constructor(reason: UnkeptReason) {
    super(reason)
    this.reason = reason
  }
}

/** A row, and whether a transaction may end after it. */
export interface RowStep extends RowWrite {
  readonly mayPause: boolean
}

interface ImageEntry {
  readonly checksum: number
  readonly bytes: number
}

interface ImageFeed {
  readonly number: number
  readonly secret: boolean
  readonly entries: Map<string, ImageEntry>
  digest: number
  bytes: number
}

export class KeptImage {
  readonly #box: SecretBox | undefined
  readonly #feeds = new Map<string, ImageFeed>()
  #lastNumber = 0
  #entries = 0
  #bytes = 0

  constructor(box: SecretBox | undefined) {
    this.#box = box
  }

  get feeds(): number {
    return this.#feeds.size
  }

  get entries(): number {
    return this.#entries
  }

  /** Whether changes of this feed can be written without the rest of it. */
  has(key: string, secret: boolean): boolean {
    return this.#feeds.get(key)?.secret === secret
  }

  format(): RowWrite {
    return { key: FORMAT_ROW_KEY, value: encodeRow(FORMAT_ROW_KEY, [Buffer.from(KEPT_FORMAT)]) }
  }

  /**
   * Entries first, in as many transactions as need be; they are nobody's until the head is written, in one transaction with
   * the end of the head before. What belonged to that is removed last. Throws UnkeptError before the first row.
   */
  *replace(key: string, { head, entries, secret }: FeedState): Generator<RowStep> {
    const all = [...entries]
    const before = this.#feeds.get(key)
    this.#check(all, secret, before?.bytes ?? 0)
    const feed = this.#begin(secret)
    const headRow = this.#headOf(key, head, feed)
    for (const entry of all) yield this.#put(key, feed, entry, true)
    if (before !== undefined) yield { key: headRowKey(before.number), value: undefined, mayPause: false }
    yield headRow()
    this.#feeds.set(key, feed)
    if (before !== undefined) yield* this.#removeEntries(before)
  }

  /** In one transaction. Throws UnkeptError before the first row. The feed must be one that it `has`. */
  *change(key: string, head: KeptHead, puts: Iterable<KeptEntry>, deletes: Iterable<string>): Generator<RowStep> {
    const feed = this.#feeds.get(key) as ImageFeed
    const all = [...puts]
    this.#check(all, feed.secret, 0)
    const headRow = this.#headOf(key, head, feed)
    for (const each of deletes) yield* this.#delete(feed, each)
    for (const entry of all) yield this.#put(key, feed, entry, false)
    yield headRow()
  }

  *drop(key: string): Generator<RowStep> {
    const feed = this.#feeds.get(key)
    if (feed === undefined) return
    this.#feeds.delete(key)
    yield { key: headRowKey(feed.number), value: undefined, mayPause: true }
    yield* this.#removeEntries(feed)
  }

  /** Throws UnkeptError. */
  record(shelf: string, key: string, record: KeptRecord | undefined): RowStep {
    const rowKey = recordRowKey(shelf, key)
    if (record === undefined) return { key: rowKey, value: undefined, mayPause: true }
    const value = this.#encode(rowKey, [record.value], record.secret ? placeOf(shelf, key) : undefined)
    return { key: rowKey, value, mayPause: true }
  }

  #begin(secret: boolean): ImageFeed {
    if (this.#lastNumber === MAX_FEED_NUMBER) throw new Error('the file has no more numbers for feeds')
    return { number: ++this.#lastNumber, secret, entries: new Map(), digest: 0, bytes: 0 }
  }

  #check(entries: readonly KeptEntry[], secret: boolean, freedBytes: number): void {
    if (secret && this.#box === undefined) throw new UnkeptError('no-key')
    let bytes = this.#bytes - freedBytes
    for (const entry of entries) {
      if (!fitsRowKey(entry.key)) throw new UnkeptError('long-name')
      if (entry.bytes.length > MAX_ENTRY_BYTES) throw new UnkeptError('too-large')
      bytes += entry.bytes.length
    }
    if (bytes > MAX_KEPT_BYTES) throw new UnkeptError('too-large')
  }

  /** The row is made when the entries are known. Throws UnkeptError at once for a head that no row has room for. */
  #headOf(key: string, head: KeptHead, feed: ImageFeed): () => RowStep {
    const content = () =>
      encodeHead({ key, head, secret: feed.secret, entries: feed.entries.size, digest: feed.digest })
    if (content() === undefined) throw new UnkeptError('too-large')
    const rowKey = headRowKey(feed.number)
    return () => ({ key: rowKey, value: encodeRow(rowKey, [content() as Buffer]), mayPause: true })
  }

  #put(feedKey: string, feed: ImageFeed, entry: KeptEntry, mayPause: boolean): RowStep {
    const rowKey = entryRowKey(feed.number, entry.key)
    const place = feed.secret ? placeOf(feedKey, entry.key) : undefined
    const value = this.#encode(rowKey, encodeEntry(entry), place)
    const checksum = checksumOf(value)
    this.#forget(feed, entry.key)
    feed.entries.set(entry.key, { checksum, bytes: value.length })
    feed.digest = addToDigest(feed.digest, checksum)
    this.#entries++
    this.#count(feed, value.length)
    return { key: rowKey, value, mayPause }
  }

  *#delete(feed: ImageFeed, key: string): Generator<RowStep> {
    if (this.#forget(feed, key)) yield { key: entryRowKey(feed.number, key), value: undefined, mayPause: false }
  }

  /** Whether it was there. */
  #forget(feed: ImageFeed, key: string): boolean {
    const entry = feed.entries.get(key)
    if (entry === undefined) return false
    feed.entries.delete(key)
    feed.digest = removeFromDigest(feed.digest, entry.checksum)
    this.#entries--
    this.#count(feed, -entry.bytes)
    return true
  }

  *#removeEntries(feed: ImageFeed): Generator<RowStep> {
    this.#entries -= feed.entries.size
    this.#count(feed, -feed.bytes)
    for (const key of feed.entries.keys()) {
      yield { key: entryRowKey(feed.number, key), value: undefined, mayPause: true }
    }
  }

  #count(feed: ImageFeed, bytes: number): void {
    feed.bytes += bytes
    this.#bytes += bytes
  }

  #encode(rowKey: Buffer, content: readonly Uint8Array[], place: string | undefined): Buffer {
    try {
      return encodeRow(rowKey, content, place === undefined ? undefined : { box: this.#box, place })
    } catch (error) {
      if (error instanceof NoKeyError) throw new UnkeptError('no-key')
      throw error
    }
  }
}
