/**
 * Reads what a run has left in its file: records, then whole feeds. Rows that are damaged or cannot be decrypted are counted
 * and left out; the feeds they are missing from are told as incomplete.
 */
import type { Clock } from '../../runtime/clock.ts'
import { addToDigest, decodeEntry, decodeHead, type HeadRow } from './feed-rows.ts'
import type { KeptEntry, KeptRecord, LoadedFeed } from './kept.ts'
import { FileReader, type ReadableFile } from './lmdb/file-reader.ts'
import { TreeReader } from './lmdb/tree-reader.ts'
import { parseRowKey, type RowKey } from './row-keys.ts'
import { checksumOf, decodeRow, isSealed, placeOf } from './row-values.ts'
import type { SecretBox } from './secret-box.ts'

/** Written into every file; another one is not read. */
export const KEPT_FORMAT = '1'

export interface ReadFaults {
  /** Rows whose checksum is wrong, or that cannot be read. */
  damaged: number
  /** Rows that another key has encrypted. */
  unreadable: number
  /** Entries without a feed: what a writing left that was never completed, or whose head is damaged. */
  orphaned: number
  /** Pages of the file that make no sense. */
  lostPages: number
  /** The format of the file, if that is not ours: nothing of it was read. */
  foreignFormat: string | undefined
}

export interface KeptReaderOptions {
  readonly file: ReadableFile
  readonly box: SecretBox | undefined
  readonly clock: Clock
  onRecord(shelf: string, key: string, record: KeptRecord): void
}

/** A feed whose entries are being read. */
interface Gathering {
  readonly number: number
  readonly row: HeadRow
  readonly entries: KeptEntry[]
  digest: number
}

export class KeptReader {
  readonly faults: ReadFaults = { damaged: 0, unreadable: 0, orphaned: 0, lostPages: 0, foreignFormat: undefined }
  readonly #options: KeptReaderOptions
  /** Heads of feeds whose entries have not come yet, by the number of the feed. */
  readonly #heads = new Map<number, HeadRow>()
  readonly #numbers = new Map<string, number>()
  #gathering: Gathering | undefined

  constructor(options: KeptReaderOptions) {
    this.#options = options
  }

  /** Once. The file stays open. */
  async *feeds(): AsyncGenerator<LoadedFeed> {
    const reader = new FileReader(this.#options.file)
    await reader.readAhead()
    const tree = new TreeReader(reader, this.#options.clock)
    for await (const { key, value } of tree.rows()) {
      const done = this.#take(key, value)
      if (done !== undefined) yield done
      if (this.faults.foreignFormat !== undefined) return
    }
    const last = this.#finish()
    if (last !== undefined) yield last
    for (const row of this.#heads.values()) yield loaded(row, [], 0)
    this.faults.lostPages = tree.lostPages
    this.faults.damaged += tree.lostNodes
  }

  /** Returns the feed that this row shows to be complete. */
  #take(rowKey: Buffer, value: Buffer | undefined): LoadedFeed | undefined {
    const key = parseRowKey(rowKey)
    const done = key?.kind === 'entry' && this.#gathering?.number !== key.feed ? this.#finish() : undefined
    if (key === undefined) {
      this.faults.damaged++
    } else if (key.kind === 'entry' && !this.#begin(key.feed)) {
      this.faults.orphaned++
    } else {
      const content = value === undefined ? 'damaged' : this.#decode(rowKey, key, value)
      if (typeof content === 'string') this.faults[content]++
      else if (!this.#accept(key, content, value as Buffer)) this.faults.damaged++
    }
    return done
  }

  #decode(rowKey: Buffer, key: RowKey, value: Buffer): Buffer | 'damaged' | 'unreadable' {
    return decodeRow(rowKey, value, this.#options.box, () => this.#placeOf(key))
  }

  #placeOf(key: RowKey): string {
    if (key.kind === 'record') return placeOf(key.shelf, key.key)
    return key.kind === 'entry' ? placeOf(this.#gathering?.row.key ?? '', key.key) : ''
  }

  #accept(key: RowKey, content: Buffer, value: Buffer): boolean {
    switch (key.kind) {
      case 'format':
        if (content.toString() !== KEPT_FORMAT) this.faults.foreignFormat = content.toString()
        return true
      case 'record':
        this.#options.onRecord(key.shelf, key.key, { value: content, secret: isSealed(value) })
        return true
      case 'head':
        return this.#acceptHead(key.feed, decodeHead(content))
      default:
        return this.#acceptEntry(decodeEntry(key.key, content), checksumOf(value))
    }
  }

  #acceptHead(number: number, row: HeadRow | undefined): boolean {
    if (row === undefined) return false
    // Only damage leaves two heads for one feed: then the later writing counts.
    const earlier = this.#numbers.get(row.key)
    if (earlier !== undefined) this.#heads.delete(earlier)
    this.#numbers.set(row.key, number)
    this.#heads.set(number, row)
    return true
  }

  #acceptEntry(entry: KeptEntry | undefined, checksum: number): boolean {
    const feed = this.#gathering
    if (entry === undefined || feed === undefined) return false
    feed.entries.push(entry)
    feed.digest = addToDigest(feed.digest, checksum)
    return true
  }

  /** Whether the entries of feed `number` can be taken. */
  #begin(number: number): boolean {
    if (this.#gathering?.number === number) return true
    const row = this.#heads.get(number)
    if (row === undefined) return false
    this.#heads.delete(number)
    this.#gathering = { number, row, entries: [], digest: 0 }
    return true
  }

  #finish(): LoadedFeed | undefined {
    const feed = this.#gathering
    this.#gathering = undefined
    return feed && loaded(feed.row, feed.entries, feed.digest)
  }
}

function loaded({ key, head, secret, ...row }: HeadRow, entries: readonly KeptEntry[], digest: number): LoadedFeed {
  const isComplete = entries.length === row.entries && digest === row.digest
  return { key, head, secret, entries, isComplete }
}
