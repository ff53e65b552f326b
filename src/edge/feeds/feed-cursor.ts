/** Where one reader stands in a feed: it takes one change after another, at its own pace. */
import { areComparable, isNotNewer } from '../../kube/reflector/versions.ts'
import type { Feed } from './feed.ts'
import type { FeedChange } from './feed-history.ts'

export class FeedCursor {
  readonly #feed: Feed
  readonly #epoch: number
  #sequence: number
  /** Up to where the reader has seen everything; at first that may be more than the feed has. */
  #seenVersion: string
  /** The feed has yet to come to where the reader is: it may find that it has missed what happened there. */
  #isAhead: boolean

  constructor(feed: Feed, sequence: number, seenVersion: string) {
    this.#feed = feed
    this.#epoch = feed.history.epoch
    this.#sequence = sequence
    this.#seenVersion = seenVersion
    this.#isAhead = isAhead(seenVersion, feed)
  }

  /** The version to resume from: that of the feed, once everything has been taken. */
  get version(): string {
    const { version, history } = this.#feed
    return this.#sequence === history.end && !isNotNewer(version, this.#seenVersion) ? version : this.#seenVersion
  }

  /** Whether nobody can start from the version of the last change that was taken, though it can be gone on from here. */
  get isInGap(): boolean {
    return this.#feed.history.isInGap(this.#seenVersion)
  }

  /** Whether the reader has seen more than the feed has, whose objects may then be out of date for it. */
  get isBeyondFeed(): boolean {
    return isAhead(this.#seenVersion, this.#feed)
  }

  /** Undefined where there is nothing more yet; `gone` where the reader has to begin anew. */
  next(): FeedChange | 'gone' | undefined {
    const { history } = this.#feed
    if (history.epoch !== this.#epoch || this.#isPassedOver()) return 'gone'
    for (;;) {
      const change = history.at(this.#sequence)
      if (change === undefined || change === 'gone') return change
      this.#sequence += 1
      if (isNotNewer(change.version, this.#seenVersion)) continue
      // What was inferred is told under an older version, before changes that lie between that and its own.
      if (!change.isInferred) this.#seenVersion = change.version
      if (change.gap !== undefined) change.gap.isCrossed = true
      return change
    }
  }

  #isPassedOver(): boolean {
    if (!this.#isAhead) return false
    if (this.#feed.history.positionAfter(this.#seenVersion) === undefined) return true
    this.#isAhead = isAhead(this.#seenVersion, this.#feed)
    return false
  }
}

function isAhead(seenVersion: string, { version }: Feed): boolean {
  return areComparable(seenVersion, version) && !isNotNewer(seenVersion, version)
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
