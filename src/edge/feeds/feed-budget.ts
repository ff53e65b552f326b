/**
 * How much memory feeds take, altogether and for each reader that made them necessary: one that asks for a large collection under
 * a thousand selectors pays for that itself, and takes nothing from the others. Pure: whoever asks drops what is too much.
 */

/** What all feeds hold together: objects, what their histories have beside them, and what they are asked for by. */
const MAX_FEEDS_BYTES = 256 * 1024 * 1024
/** What those hold that one reader has made necessary. */
const MAX_READER_FEEDS_BYTES = 64 * 1024 * 1024
/** Feeds that one reader has made necessary; a large controller watches some hundred resources. */
export const MAX_READER_FEEDS = 256

/** Of the node itself, and of what an earlier life has left: only the sum of all limits those. */
export const NODE_READER = ''

interface Share {
  feeds: number
  bytes: number
}

export class FeedBudget<Feed extends object> {
  readonly #maxBytes: number
  readonly #maxReaderBytes: number
  readonly #readers = new Map<string, Share>()
  readonly #feeds = new Map<Feed, { readonly reader: string; bytes: number }>()
  #bytes = 0

  constructor(maxBytes = MAX_FEEDS_BYTES, maxReaderBytes = MAX_READER_FEEDS_BYTES) {
    this.#maxBytes = maxBytes
    this.#maxReaderBytes = maxReaderBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  readerOf(feed: Feed): string {
    return this.#feeds.get(feed)?.reader ?? NODE_READER
  }

  mayAdd(reader: string): boolean {
    return reader === NODE_READER || (this.#readers.get(reader)?.feeds ?? 0) < MAX_READER_FEEDS
  }

  add(feed: Feed, reader: string): void {
    const share = this.#readers.get(reader) ?? { feeds: 0, bytes: 0 }
    share.feeds += 1
    this.#readers.set(reader, share)
    this.#feeds.set(feed, { reader, bytes: 0 })
  }

  resize(feed: Feed, bytes: number): void {
    const entry = this.#feeds.get(feed)
    const share = entry && this.#readers.get(entry.reader)
    if (entry === undefined || share === undefined) return
    const grown = bytes - entry.bytes
    entry.bytes = bytes
    share.bytes += grown
    this.#bytes += grown
  }

  remove(feed: Feed): void {
    const { reader } = this.#feeds.get(feed) ?? { reader: NODE_READER }
    const share = this.#readers.get(reader)
    if (share === undefined || !this.#feeds.has(feed)) return
    this.resize(feed, 0)
    this.#feeds.delete(feed)
    share.feeds -= 1
    if (share.feeds === 0) this.#readers.delete(reader)
  }

  get isOver(): boolean {
    return this.#bytes > this.#maxBytes
  }

  isReaderOver(reader: string): boolean {
    return reader !== NODE_READER && (this.#readers.get(reader)?.bytes ?? 0) > this.#maxReaderBytes
  }
}
