/**
 * The answer to one watch, made from a feed: what there is, if that was asked for, then every change, then bookmarks. It goes
 * on whatever the link does: while the feed stands still there is nothing to tell, unless objects are to be told again. It ends
 * when its time is up, and with 410 where the reader has to begin anew, as API servers do.
 */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import { type Pulled, PulledSource } from '../../http/body/pulled-source.ts'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Feed } from './feed.ts'
import type { FeedCursor } from './feed-cursor.ts'
import type { KeptObject } from './kept-object.ts'
import { bookmarkFrame, errorFrame, eventFrame, InexactError, type Output } from './representing.ts'
import { type Selection, selected } from './selection.ts'

/** How often a watch that wants bookmarks gets one: about as often as from a kube-apiserver. */
export const FEED_BOOKMARK_MS = 60_000

export interface FeedWatchOptions {
  readonly feed: Feed
  /** Undefined where the feed does not reach back to where the reader wants to begin. */
  readonly cursor: FeedCursor | undefined
  /** Told first, as ADDED; undefined where the next one takes another step. */
  readonly initial?: Iterable<KeptObject | undefined> | undefined
  /** Whether the end of those is to be told. */
  readonly endsInitialEvents?: boolean
  readonly selection: Selection
  readonly output: Output
  readonly allowBookmarks: boolean
  readonly timeoutMs: number
  readonly clock: Clock
  /** Hears that the watch is over, whoever ended it. */
  readonly over: () => void
}

export class FeedWatchBody implements ByteSource {
  readonly #options: FeedWatchOptions
  readonly #source: PulledSource
  readonly #initial: Iterator<KeptObject | undefined>
  /** Of what was told first. */
  readonly #initialVersion: string
  readonly #stop: (() => void)[] = []
  /** Keys of what is to be told once more, after all that has changed. */
  readonly #again = new Set<string>()
  #isInitialDone = false
  #isFirst = true
  /** What comes after is the end. */
  #isLast = false
  #bookmarked = ''
  #wantsBookmark = false
  /** Whether it has been told something since it was last at the end of what there is. */
  #isOnItsWay = false

  constructor(options: FeedWatchOptions) {
    this.#options = options
    const { clock, feed, timeoutMs, allowBookmarks } = options
    this.#source = new PulledSource({ next: () => this.#next(), over: () => this.#over(), clock })
    this.#initial = (options.initial ?? [])[Symbol.iterator]()
    this.#initialVersion = feed.version
    this.#stop.push(
      feed.listen(() => this.#source.wake()),
      feed.onRetell((keys) => this.#tellAgain(keys)),
      clock.schedule(timeoutMs, () => this.finish()),
    )
    if (allowBookmarks) this.#scheduleBookmark()
  }

  get isOver(): boolean {
    return this.#source.isOver
  }

  read(reader: ByteReader): void {
    this.#source.read(reader)
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#source.cancel()
  }

  /** Ends it in good order, with the next thing that would have been told: a client goes on from its last event. */
  finish(): void {
    this.#isLast = true
    this.#source.wake()
  }

  #tellAgain(keys: readonly string[]): void {
    for (const key of keys) this.#again.add(key)
    this.#source.wake()
  }

  #over(): void {
    for (const stop of this.#stop) stop()
    this.#options.over()
  }

  #next(): Pulled {
    if (this.#isLast) return 'end'
    try {
      return this.#frame()
    } catch (error) {
      // Somewhere in between lies what cannot be said: a new list is asked for elsewhere.
      if (error instanceof InexactError) return this.#expired()
      throw error
    }
  }

  /** Looks at one object at most: to find those that are selected may take long. */
  #frame(): Pulled {
    const { cursor, selection } = this.#options
    if (cursor === undefined) return this.#expired()
    if (!this.#isInitialDone) return this.#nextInitial()
    const change = cursor.next()
    if (change === 'gone') return this.#expired()
    if (change === undefined) return this.#nextAgain(cursor) ?? this.#atEnd(cursor)
    this.#isOnItsWay = true
    const event = selected(change, selection)
    return event === undefined ? 'later' : this.#event(event.type, event.object)
  }

  /**
   * Undefined where there is nothing to be told once more. By now the reader has what the feed has; one that has seen more
   * might be given something older than it knows, and begins anew instead.
   */
  #nextAgain(cursor: FeedCursor): Pulled | undefined {
    const { feed, selection } = this.#options
    const [key] = this.#again
    if (key === undefined) return undefined
    if (cursor.isBeyondFeed) return this.#expired()
    this.#again.delete(key)
    const object = feed.objects.get(key)
    return object !== undefined && selection(object) ? this.#event('MODIFIED', object) : 'later'
  }

  #nextInitial(): Pulled {
    const { selection, endsInitialEvents = false, allowBookmarks, output } = this.#options
    const { value, done } = this.#initial.next()
    if (done !== true) return value !== undefined && selection(value) ? this.#event('ADDED', value) : 'later'
    this.#isInitialDone = true
    if (!endsInitialEvents || !allowBookmarks) return 'later'
    this.#bookmarked = this.#initialVersion
    return bookmarkFrame(this.#initialVersion, output, true)
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KeptObject): Buffer {
    const { output, clock } = this.#options
    const frame = eventFrame(type, object, { ...output, nowMs: clock.nowMs() }, this.#isFirst)
    this.#isFirst = false
    return frame
  }

  #expired(): Buffer {
    const { output, feed } = this.#options
    const oldest = feed.history.startVersion
    this.#isLast = true
    return errorFrame(resourceExpired(`too old resource version; the oldest that is left is ${oldest}`).status, output)
  }

  /** Who was told the differences between two lists could not resume from the last of them: he gets a bookmark at once. */
  #atEnd(cursor: FeedCursor): Pulled {
    if (this.#isOnItsWay && this.#options.allowBookmarks && cursor.isInGap) this.#wantsBookmark = true
    this.#isOnItsWay = false
    return this.#wantsBookmark ? this.#bookmark(cursor) : 'wait'
  }

  /** Everything up to the cursor's version has been told. */
  #bookmark({ version }: FeedCursor): Pulled {
    this.#wantsBookmark = false
    if (version === '' || version === this.#bookmarked) return 'wait'
    this.#bookmarked = version
    return bookmarkFrame(version, this.#options.output)
  }

  #scheduleBookmark(): void {
    let cancel = (): void => {}
    const again = (): void => {
      cancel = this.#options.clock.schedule(FEED_BOOKMARK_MS, () => {
        again()
        this.#wantsBookmark = true
        this.#source.wake()
      })
    }
    again()
    this.#stop.push(() => cancel())
  }
}
