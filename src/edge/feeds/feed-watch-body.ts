/**
 * The answer to one watch, made from a feed: what there is, if that was asked for, then every change, then bookmarks. It goes
 * on whatever the link does: while the feed stands still there is nothing to tell. It ends when its time is up, and with
 * 410 where the reader has to begin anew, as API servers do.
 */
import { Readable } from 'node:stream'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Feed } from './feed.ts'
import type { FeedCursor } from './feed-cursor.ts'
import type { KeptObject } from './kept-object.ts'
import { bookmarkFrame, errorFrame, eventFrame, InexactError, type Output } from './representing.ts'
import { type Selection, selected } from './selection.ts'

/** How often a watch that wants bookmarks gets one: about as often as from a kube-apiserver. */
export const FEED_BOOKMARK_MS = 60_000
/** What one watch may hold ready for a client that reads slowly; the rest stays in the feed. */
const WATCH_BUFFER_BYTES = 64 * 1024

export interface FeedWatchOptions {
  readonly feed: Feed
  /** Undefined where the feed does not reach back to where the reader wants to begin. */
  readonly cursor: FeedCursor | undefined
  /** Told first, as ADDED. */
  readonly initial?: readonly KeptObject[] | undefined
  /** Whether the end of those is to be told. */
  readonly endsInitialEvents?: boolean
  readonly selection: Selection
  readonly output: Output
  readonly allowBookmarks: boolean
  readonly timeoutMs: number
  readonly clock: Clock
  /** Hears that the body is over, whoever ended it. */
  readonly over: () => void
}

export class FeedWatchBody extends Readable {
  readonly #options: FeedWatchOptions
  readonly #initial: Iterator<KeptObject>
  /** Of what was told first. */
  readonly #initialVersion: string
  readonly #stop: (() => void)[] = []
  #isInitialDone = false
  #isFirst = true
  #isWaiting = false
  #isEnded = false
  #bookmarked = ''
  #wantsBookmark = false

  constructor(options: FeedWatchOptions) {
    super({ highWaterMark: WATCH_BUFFER_BYTES })
    this.#options = options
    this.#initial = (options.initial ?? [])[Symbol.iterator]()
    this.#initialVersion = options.feed.version
    const { clock, feed, timeoutMs, allowBookmarks } = options
    this.#stop.push(
      feed.listen(() => this.#wake()),
      clock.schedule(timeoutMs, () => this.finish()),
    )
    if (allowBookmarks) this.#scheduleBookmark()
    this.on('error', () => {})
  }

  /** Ends it in good order: a client goes on from its last event. */
  finish(): void {
    if (this.#isEnded) return
    if (this.#options.allowBookmarks && this.#isInitialDone && this.#isWaiting) this.#bookmark()
    this.#isEnded = true
    this.push(null)
  }

  override _read(): void {
    this.#isWaiting = false
    try {
      while (!this.#isEnded && this.#pushNext());
    } catch (error) {
      // Somewhere in between lies what cannot be said: a new list is asked for elsewhere.
      if (error instanceof InexactError) this.#expire()
      else this.destroy(error as Error)
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#isEnded = true
    for (const stop of this.#stop) stop()
    this.#options.over()
    done(error)
  }

  #wake(): void {
    if (this.#isWaiting && !this.#isEnded) this._read()
  }

  /** False where the reader has enough, or there is no more. */
  #pushNext(): boolean {
    const { cursor, selection } = this.#options
    if (cursor === undefined) return this.#expire()
    if (!this.#isInitialDone) return this.#pushInitial()
    for (;;) {
      const change = cursor.next()
      if (change === 'gone') return this.#expire()
      if (change === undefined) {
        this.#isWaiting = true
        if (this.#wantsBookmark) this.#bookmark()
        return false
      }
      const event = selected(change, selection)
      if (event !== undefined) return this.#pushEvent(event.type, event.object)
    }
  }

  #pushInitial(): boolean {
    const { selection, endsInitialEvents = false, allowBookmarks, output } = this.#options
    for (;;) {
      const { value, done } = this.#initial.next()
      if (done === true) break
      if (selection(value)) return this.#pushEvent('ADDED', value)
    }
    this.#isInitialDone = true
    this.#bookmarked = this.#initialVersion
    if (!endsInitialEvents || !allowBookmarks) return true
    return this.push(bookmarkFrame(this.#initialVersion, output, true))
  }

  #pushEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KeptObject): boolean {
    const { output, clock } = this.#options
    const frame = eventFrame(type, object, { ...output, nowMs: clock.nowMs() }, this.#isFirst)
    this.#isFirst = false
    return this.push(frame)
  }

  #expire(): false {
    const { output, feed } = this.#options
    const { status } = resourceExpired(
      `too old resource version; the oldest that is left is ${feed.history.startVersion}`,
    )
    this.#isEnded = true
    this.push(errorFrame(status, output))
    this.push(null)
    return false
  }

  /** Only where everything up to the feed's version has been told. */
  #bookmark(): void {
    const version = this.#options.cursor?.version ?? ''
    this.#wantsBookmark = false
    if (version === '' || version === this.#bookmarked) return
    this.#bookmarked = version
    this.push(bookmarkFrame(version, this.#options.output))
  }

  #scheduleBookmark(): void {
    let cancel = (): void => {}
    const again = (): void => {
      cancel = this.#options.clock.schedule(FEED_BOOKMARK_MS, () => {
        again()
        this.#wantsBookmark = true
        if (this.#isWaiting && !this.#isEnded) this.#bookmark()
      })
    }
    again()
    this.#stop.push(() => cancel())
  }
}
