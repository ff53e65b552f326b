/**
 * The latest changes of a feed, in order. A reader that has seen a version finds here all that came after it, or learns that
 * the history does not reach back so far. What must stay true: whoever starts at a version within it and reads to the end has
 * what the feed has.
 */
import { areComparable, isNotNewer } from '../../kube/reflector/versions.ts'
import type { KeptObject } from './kept-object.ts'

/** More changes than a client misses that comes back at once; one that missed more lists anew. */
const MAX_FEED_HISTORY = 1_024
/** What the objects in a feed's history may hold together, beside those that the feed has anyway. */
const MAX_FEED_HISTORY_BYTES = 4 * 1024 * 1024
/** How much of it goes at once when it is full, so that not every change moves all the others. */
const TRIMMED_SHARE = 1 / 4
/** Lists that took the place of older ones; beyond, nobody starts before the end of the first. */
export const MAX_FEED_GAPS = 64

export interface FeedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** As it is now; of one that is gone, as it was last. */
  readonly object: KeptObject
  /** What the feed had before, where the change is that of an object. */
  readonly previous: KeptObject | undefined
  /** Whoever has seen everything up to this version has seen this change. */
  readonly version: string
  /**
   * Found out by comparing two lists: the object went between them, at `version` at the latest. The object itself is under the
   * version of the older list.
   */
  readonly isInferred: boolean
  /** The two lists that it was found between, where it was. */
  readonly gap?: Gap | undefined
}

/** Between two lists, of which only the difference is known: what came and went in between is not. */
export interface Gap {
  readonly after: string
  readonly before: string
  /** Whether anybody was told some of the difference: their versions say less than what they know. */
  isCrossed: boolean
}

export class FeedHistory {
  readonly #maxChanges: number
  readonly #maxBytes: number
  #changes: FeedChange[] = []
  /** Of the first one that is left. */
  #firstSequence = 0
  #bytes = 0
  #heldBytes = 0
  #startVersion = ''
  #gaps: Gap[] = []
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

  /** Of what is in memory for its sake alone: all that was, and is not in the feed any more. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Nothing before this version leads to what is there now. */
  begin(version: string): void {
    this.#firstSequence = this.end
    this.#changes = []
    this.#bytes = 0
    this.#heldBytes = 0
    this.#startVersion = version
    this.#gaps = []
    this.#epoch += 1
  }

  append(change: FeedChange): void {
    this.#changes.push(change)
    this.#bytes += change.object.document.length
    this.#heldBytes += heldBy(change)
    if (this.#changes.length > this.#maxChanges || this.#bytes > this.#maxBytes) this.#trim()
  }

  /**
   * A list of version `to` takes the place of one of version `from`; to be told before the changes that this makes. Whoever has
   * read at a version in between may know objects that neither list has, and cannot be led on.
   */
  skip(from: string, to: string): Gap {
    const gap = { after: from, before: to, isCrossed: false }
    this.#gaps.push(gap)
    const oldest = this.#gaps.length > MAX_FEED_GAPS ? this.#gaps.shift() : undefined
    if (oldest !== undefined) this.#startAt(oldest.before)
    return gap
  }

  /**
   * Whether one who comes back with this version may know more than it says. Such a one was told that objects are gone, under a
   * version at which they were there: the API server would tell of them again.
   */
  isAmbiguous(version: string): boolean {
    return this.#gaps.some(
      ({ after, before, isCrossed }) => isCrossed && isNotNewer(after, version) && !isNotNewer(before, version),
    )
  }

  /** Where one goes on who has seen everything up to `version`; undefined where that is not known, or not any more. */
  positionAfter(version: string): number | undefined {
    if (!areComparable(this.#startVersion, version)) return this.#positionAfterEqual(version)
    if (!isNotNewer(this.#startVersion, version) || this.isInGap(version)) return undefined
    const index = this.#changes.findIndex((change) => !isNotNewer(change.version, version))
    return index < 0 ? this.end : this.#firstSequence + index
  }

  isInGap(version: string): boolean {
    return this.#gaps.some(({ after, before }) => !isNotNewer(version, after) && !isNotNewer(before, version))
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

  /** Of that, what `forget` gives back. */
  get forgettableBytes(): number {
    const latest = this.#changes.at(-1)
    return latest === undefined ? 0 : this.#heldBytes - heldBy(latest)
  }

  /** All but the latest change. */
  forget(): void {
    this.#forgetWhile(() => true)
  }

  /** The latest stays in any case: those who read on have yet to be told. */
  #trim(): void {
    const { length } = this.#changes
    const wantedChanges = length > this.#maxChanges ? Math.floor(this.#maxChanges * (1 - TRIMMED_SHARE)) : length
    const wantedBytes = this.#maxBytes * (1 - TRIMMED_SHARE)
    this.#forgetWhile((count) => length - count > wantedChanges || this.#bytes > wantedBytes)
  }

  #forgetWhile(isTooMuch: (forgotten: number) => boolean): void {
    let count = 0
    for (const change of this.#changes.slice(0, -1)) {
      if (!isTooMuch(count)) break
      this.#bytes -= change.object.document.length
      this.#heldBytes -= heldBy(change)
      this.#startAt(change.version)
      count += 1
    }
    this.#changes = this.#changes.slice(count)
    this.#firstSequence += count
  }

  /** What was inferred comes before changes of lower versions: the start never goes back to those. */
  #startAt(version: string): void {
    if (isNotNewer(version, this.#startVersion)) return
    this.#startVersion = version
  }
}

/**
 * An object that was added or modified is in the feed, or a later change has it as what was before. One that was deleted is here
 * as it was last, and as the feed had it.
 */
function heldBy({ type, object, previous }: FeedChange): number {
  const before = previous?.document.length ?? 0
  return type === 'DELETED' ? before + object.document.length : before
}
