/** Where one reader stands in a feed: it takes one change after another, at its own pace. */
import { isNotNewer } from '../../kube/reflector/versions.ts'
import type { Feed } from './feed.ts'
import type { FeedChange } from './feed-history.ts'

export class FeedCursor {
  readonly #feed: Feed
  readonly #epoch: number
  #sequence: number
  /** Up to where the reader has seen everything; at first that may be more than the feed has. */
  #seenVersion: string

  constructor(feed: Feed, sequence: number, seenVersion: string) {
    this.#feed = feed
    this.#epoch = feed.history.epoch
    this.#sequence = sequence
    this.#seenVersion = seenVersion
  }

  /** The version to resume from: that of the feed, once everything has been taken. */
  get version(): string {
    const { version, history } = this.#feed
    return this.#sequence === history.end && !isNotNewer(version, this.#seenVersion) ? version : this.#seenVersion
  }

  /** Undefined where there is nothing more yet; `gone` where the reader has to begin anew. */
  next(): FeedChange | 'gone' | undefined {
    const { history } = this.#feed
    if (history.epoch !== this.#epoch) return 'gone'
    for (;;) {
      const change = history.at(this.#sequence)
      if (change === undefined || change === 'gone') return change
      this.#sequence += 1
      const isSeen = isNotNewer(change.version, this.#seenVersion)
      if (!isSeen) this.#seenVersion = change.version
      // Of what was inferred nobody knows whether the reader has seen it: rather twice than never.
      if (change.isInferred || !isSeen) return change
    }
  }
}

/** After everything that the feed has now. */
export function cursorAtEnd(feed: Feed): FeedCursor {
  return new FeedCursor(feed, feed.history.end, feed.version)
}

/** For a reader that has seen this version, which may be ahead of the feed; undefined where it is too old. */
export function cursorAfter(feed: Feed, version: string): FeedCursor | undefined {
  const sequence = feed.history.positionAfter(version)
  return sequence === undefined ? undefined : new FeedCursor(feed, sequence, version)
}
