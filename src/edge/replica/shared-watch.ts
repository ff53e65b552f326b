/**
 * A watch that is served from a feed: the reader is a member of the feed for as long as it reads, its rights are looked at again
 * from time to time, and where they are gone the watch ends in good order.
 */
import { responseContentType } from '../../kube/representation.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Feed } from '../feeds/feed.ts'
import type { FeedCursor } from '../feeds/feed-cursor.ts'
import { FeedWatchBody, type FeedWatchOptions } from '../feeds/feed-watch-body.ts'
import type { Output } from '../feeds/representing.ts'
import type { Selection } from '../feeds/selection.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { answerOf } from './local-answer.ts'
import type { CollectionRead } from './reading.ts'

/** How often the rights of whoever watches are looked at again. */
const WATCH_REVIEW_MS = 60_000
/** By which share of it each watch is earlier or later than that. */
const WATCH_REVIEW_JITTER = 0.2
/** A watch without a timeout of its own ends after a random time between this and twice as much, as at an API server. */
const MIN_FEED_WATCH_MS = 1_800_000

export interface SharedWatchOptions {
  readonly feed: Feed
  readonly reading: CollectionRead
  readonly output: Output
  readonly selection: Selection
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  /** False where the reader may not read this any more. */
  readonly mayStill: () => Promise<boolean>
  /** Hears that it is over. */
  readonly over: () => void
}

export interface WatchStart {
  /** Undefined: the reader has to begin anew, and is told so. */
  readonly cursor: FeedCursor | undefined
  /** Told first, see `FeedWatchOptions`. */
  readonly initial?: FeedWatchOptions['initial']
}

/** The events from there on. */
export function watchFrom(options: SharedWatchOptions, { cursor, initial }: WatchStart): FeedWatchBody {
  const { feed, reading, output, selection, clock, random } = options
  const { timeoutSeconds, allowBookmarks, sendInitialEvents } = reading.options
  const isLimited = timeoutSeconds !== undefined && timeoutSeconds > 0
  let stopReviews = (): void => {}
  const body = new FeedWatchBody({
    feed,
    cursor,
    initial,
    endsInitialEvents: sendInitialEvents === true && initial !== undefined,
    selection,
    output,
    allowBookmarks,
    timeoutMs: isLimited ? timeoutSeconds * 1000 : MIN_FEED_WATCH_MS * (1 + random()),
    clock,
    over: () => {
      stopReviews()
      options.over()
    },
  })
  stopReviews = reviewing(options, body)
  return body
}

function reviewing({ clock, random, mayStill }: SharedWatchOptions, body: FeedWatchBody): () => void {
  let cancel = (): void => {}
  const again = (): void => {
    const delayMs = WATCH_REVIEW_MS * (1 + WATCH_REVIEW_JITTER * (2 * random() - 1))
    cancel = clock.schedule(delayMs, () => void review())
  }
  const review = async (): Promise<void> => {
    if (body.isOver) return
    if (await mayStill().catch(() => true)) again()
    else body.finish()
  }
  again()
  return () => cancel()
}

/** Objects that look different to its reader are told again, see `Feed.retell`. */
export function watchAnswer(
  body: FeedWatchBody,
  output: Pick<Output, 'representation'>,
  warning?: string,
): UpstreamAnswer {
  return { ...answerOf(body, watchContentType(output), warning), isRetold: () => true }
}

function watchContentType({ representation }: Pick<Output, 'representation'>): string {
  return responseContentType(representation, { stream: true })
}
