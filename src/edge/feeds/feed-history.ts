/**
 * The latest changes of a feed, in order. A reader that has seen a version finds here all that came after it, or learns that
 * the history does not reach back so far. What must stay true: whoever starts at a version within it and reads to the end has
 * what the feed has.
 */
import { areComparable, isNotNewer } from '../../kube/reflector/versions.ts'
import type { KeptObject } from './kept-object.ts'

/** More changes than a client misses that comes back at once; one that missed more lists anew. */
export const MAX_FEED_HISTORY = 1_024
/** What the objects in a feed's history may hold together, beside those that the feed has anyway. */
export const MAX_FEED_HISTORY_BYTES = 4 * 1024 * 1024
/** How much of it goes at once when it is full, so that not every change moves all the others. */
const TRIMMED_SHARE = 1 / 4

export interface FeedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** As it is now; of one that is gone, as it was last. */
  readonly object: KeptObject
  /** What the feed had before, where the change is that of an object. */
  readonly previous: KeptObject | undefined
  readonly version: string
  /**
   * Found out by comparing two lists: the object went at some time after `version`, at which it was still there. Whoever has
   * seen `version` may not know of it.
   */
  readonly isInferred: boolean
}

export class FeedHistory {
  readonly #maxChanges: number
  readonly #maxBytes: number
  #changes: FeedChange[] = []
  /** Of the first one that is left. */
  #firstSequence = 0
  #bytes = 0
  #startVersion = ''
  #version = ''
  #epoch = 0

  constructor(maxChanges = MAX_FEED_HISTORY, maxBytes = MAX_FEED_HISTORY_BYTES) {
    this.#maxChanges = maxChanges
    this.#maxBytes = maxBytes
  }

  /** Changes with every break: a reader of an earlier epoch cannot go on. */
  get epoch(): number {
    return this.#epoch
  }

  /** The oldest version that one can start from. */
  get startVersion(): string {
    return this.#startVersion
  }

  /** The sequence number of the next change. */
  get end(): number {
    return this.#firstSequence + this.#changes.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Nothing before this version leads to what is there now. */
  begin(version: string): void {
    this.#firstSequence = this.end
    this.#changes = []
    this.#bytes = 0
    this.#startVersion = version
    this.#version = version
    this.#epoch += 1
  }

  append(change: FeedChange): void {
    this.#changes.push(change)
    this.#bytes += change.object.document.length
    if (this.#changes.length > this.#maxChanges || this.#bytes > this.#maxBytes) this.#trim()
  }

  /** The feed is at this version; to be told before the changes that led there. */
  advance(version: string): void {
    this.#version = version
  }

  /** Where one goes on who has seen everything up to `version`; undefined where that is not known any more. */
  positionAfter(version: string): number | undefined {
    if (!areComparable(this.#startVersion, version)) return this.#positionAfterEqual(version)
    if (!isNotNewer(this.#startVersion, version)) return undefined
    return this.#firstSequence + 1 + this.#changes.findLastIndex((change) => !isAfter(change, version))
  }

  #positionAfterEqual(version: string): number | undefined {
    const index = this.#changes.findLastIndex((change) => change.version === version)
    if (index >= 0) return this.#firstSequence + 1 + index
    return version === this.#startVersion ? this.#firstSequence : undefined
  }

  /** Undefined at the end; `gone` for what has been forgotten. */
  at(sequence: number): FeedChange | 'gone' | undefined {
    return sequence < this.#firstSequence ? 'gone' : this.#changes[sequence - this.#firstSequence]
  }

  /** What was inferred together goes together: whoever has seen its version cannot be asked how much of it he has seen. */
  #trim(): void {
    const leastChanges = Math.ceil(this.#maxChanges * TRIMMED_SHARE)
    const wantedBytes = this.#maxBytes * (1 - TRIMMED_SHARE)
    let count = 0
    let last: FeedChange | undefined
    while (count < leastChanges || this.#bytes > wantedBytes || last?.isInferred === true) {
      last = this.#changes[count]
      if (last === undefined) break
      this.#bytes -= last.object.document.length
      count += 1
    }
    this.#changes = this.#changes.slice(count)
    this.#firstSequence += count
    this.#startVersion = last?.version ?? this.#version
  }
}

function isAfter({ version, isInferred }: FeedChange, seen: string): boolean {
  return !isNotNewer(version, seen) || (isInferred && version === seen)
}
