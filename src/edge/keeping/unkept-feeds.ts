/** What cannot be kept though the disk is sound: told once for each feed, and for each shelf of records. */
import type { Logger } from '../../telemetry/logger.ts'
import type { KeepingMetrics } from './keeping-metrics.ts'
import type { UnkeptReason } from './kept-image.ts'

/** A name of a feed in a log line or a status; more would be a list of selectors. */
const MAX_SHOWN_NAME_LENGTH = 200

const SENTENCES: Readonly<Record<UnkeptReason, string>> = {
  'too-large': 'it is too large',
  'long-name': 'one of its names is too long',
  'no-key': 'it is secret and there is no key',
}

export class UnkeptFeeds {
  readonly #logger: Logger
  readonly #metrics: KeepingMetrics
  readonly #feeds = new Map<string, UnkeptReason>()
  readonly #shelves = new Map<string, UnkeptReason>()

  constructor(logger: Logger, metrics: KeepingMetrics) {
    this.#logger = logger
    this.#metrics = metrics
  }

  get problem(): string | undefined {
    const [first] = this.#feeds
    if (first === undefined) return undefined
    const others = this.#feeds.size === 1 ? '' : `, and ${this.#feeds.size - 1} more are not`
    return `the feed ${shown(first[0])} is not kept: ${SENTENCES[first[1]]}${others}`
  }

  feed(key: string, reason: UnkeptReason): void {
    if (this.#feeds.get(key) === reason) return
    this.#feeds.set(key, reason)
    this.#metrics.unkept(reason)
    this.#logger.warn({ feed: shown(key), reason }, 'a feed is not kept on disk')
  }

  record(shelf: string, reason: UnkeptReason): void {
    this.#metrics.unkept(reason)
    if (this.#shelves.get(shelf) === reason) return
    this.#shelves.set(shelf, reason)
    this.#logger.warn({ shelf, reason }, 'a record is not kept on disk')
  }

  /** The feed is kept now, or gone. */
  settled(key: string): void {
    this.#feeds.delete(key)
  }

  clear(): void {
    this.#feeds.clear()
    this.#shelves.clear()
  }
}

function shown(key: string): string {
  return key.slice(0, MAX_SHOWN_NAME_LENGTH)
}
