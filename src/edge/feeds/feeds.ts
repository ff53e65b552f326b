/** All feeds of an edge, by their key: made when somebody reads what they hold, within limits, and found by what they cover. */

import { isNotNewer } from '../../kube/reflector/versions.ts'
import { findResource, joinGroupVersion } from '../../kube/schema/catalogue.ts'
import { BoundedMap } from '../../runtime/bounded-map.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type CollectionScope, describeScope } from './collection-scope.ts'
import { copies } from './copies.ts'
import { Feed, type FeedOptions, type RestoredList } from './feed.ts'
import { FeedBudget, NODE_READER } from './feed-budget.ts'
import type { CollectionType } from './representing.ts'
import { covers } from './selection.ts'

/** A kubelet alone has one for each ConfigMap and Secret of its pods. */
const MAX_FEEDS = 4_096
/** After a link comes back its feeds ask again within this time, each at a moment of its own. */
export const FEED_RESUME_SPREAD_MS = 1_000

/** How long a collection that was too large is not tried again: each try costs the link all of it. */
export const TOO_LARGE_MS = 10 * 60_000
/** Collections that this is remembered of. */
const MAX_TOO_LARGE = 1_024

export interface FeedsOptions extends Pick<FeedOptions, 'upstream' | 'moved'> {
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  /** Fewer than there are, for tests. */
  readonly maxBytes?: number
  readonly maxReaderBytes?: number
  /** Hears of a feed that is no more. */
  readonly dropped?: (feed: Feed) => void
}

export class Feeds {
  readonly #options: FeedsOptions
  /** Those that were used last stand last. */
  readonly #feeds = new Map<string, Feed>()
  readonly #byResource = new Map<string, Set<Feed>>()
  readonly #budget: FeedBudget<Feed>
  /** Until when nobody tries again to keep them. */
  readonly #tooLarge = new BoundedMap<string, number>(MAX_TOO_LARGE)
  #isReachable = false

  constructor(options: FeedsOptions) {
    this.#options = options
    this.#budget = new FeedBudget(options.maxBytes, options.maxReaderBytes)
  }

  get all(): Iterable<Feed> {
    return this.#feeds.values()
  }

  get size(): number {
    return this.#feeds.size
  }

  /** Of which there are feeds. */
  get resources(): number {
    return this.#byResource.size
  }

  find(scope: CollectionScope): Feed | undefined {
    return this.#feeds.get(scope.key)
  }

  byKey(key: string): Feed | undefined {
    return this.#feeds.get(key)
  }

  get bytes(): number {
    return this.#budget.bytes
  }

  /** Undefined where there are too many that are read, altogether or for this reader alone. */
  ensure(scope: CollectionScope, reader: string): Feed | undefined {
    const known = this.#feeds.get(scope.key)
    if (known !== undefined) {
      this.#feeds.delete(scope.key)
      this.#feeds.set(scope.key, known)
      return known
    }
    if ((this.#tooLarge.get(scope.key) ?? 0) > this.#options.clock.monotonicMs()) return undefined
    if (!this.#budget.mayAdd(reader) && !this.#dropOldest((feed) => this.#budget.readerOf(feed) === reader))
      return undefined
    if (this.#feeds.size >= MAX_FEEDS && !this.#dropOldest(() => true)) return undefined
    return this.#add(scope, reader)
  }

  restore(scope: CollectionScope, restored: RestoredList, type: CollectionType | undefined): Feed | undefined {
    if (this.#feeds.size >= MAX_FEEDS || this.#budget.isOver) return undefined
    return this.#add(scope, NODE_READER, restored, type)
  }

  /**
   * The feed that knows most recently what is asked for, and all of it. Of a single object, given by its key, whoever has it
   * knows as well: that it was there when that feed was last told anything.
   */
  covering(scope: CollectionScope, object?: string): Feed | undefined {
    let best: Feed | undefined
    for (const feed of this.#byResource.get(resourceKey(scope)) ?? []) {
      const has = object !== undefined && feed.scope.owner === scope.owner && feed.objects.has(object)
      if (!feed.isComplete || !(has || covers(feed.scope, scope))) continue
      if (best === undefined || isNotNewer(best.version, feed.version)) best = feed
    }
    return best
  }

  drop(feed: Feed): void {
    if (this.#feeds.get(feed.scope.key) !== feed) return
    this.#feeds.delete(feed.scope.key)
    this.#forgetSibling(feed)
    this.#budget.remove(feed)
    feed.close()
    this.#options.dropped?.(feed)
  }

  setReachable(isReachable: boolean): void {
    if (this.#isReachable === isReachable) return
    this.#isReachable = isReachable
    for (const feed of this.#feeds.values())
      feed.setReachable(isReachable, this.#options.random() * FEED_RESUME_SPREAD_MS)
  }

  /** Ends all readers. What is there stays, and is followed again when somebody comes who may. */
  endReaders(error: Error): void {
    for (const feed of [...this.#feeds.values()]) feed.abandon(error)
  }

  /** Ends all readers, and forgets everything; or of those feeds that are meant. */
  abandon(error: Error, isMeant: (feed: Feed) => boolean = () => true): void {
    for (const feed of [...this.#feeds.values()].filter(isMeant)) {
      feed.abandon(error)
      this.drop(feed)
    }
    copies.clear()
  }

  /** For good. What they have stays, for whoever writes it down last of all. */
  close(): void {
    for (const feed of this.#feeds.values()) feed.close()
  }

  #add(scope: CollectionScope, reader: string, restored?: RestoredList, type = builtInType(scope)): Feed {
    const { moved } = this.#options
    const feed = new Feed({
      ...this.#options,
      scope,
      restored,
      type,
      moved: (grown, changes, isSnapshot) => {
        moved?.(grown, changes, isSnapshot)
        this.#budget.resize(grown, grown.heldBytes)
        this.#keepWithinBudget(grown)
      },
    })
    if (!this.#isReachable) feed.setReachable(false)
    this.#feeds.set(scope.key, feed)
    this.#budget.add(feed, reader)
    this.#budget.resize(feed, feed.heldBytes)
    const siblings = this.#byResource.get(resourceKey(scope)) ?? new Set()
    this.#byResource.set(resourceKey(scope), siblings.add(feed))
    return feed
  }

  /** Callers choose the names of resources: of those that have no feed any more nothing stays. */
  #forgetSibling(feed: Feed): void {
    const key = resourceKey(feed.scope)
    const siblings = this.#byResource.get(key)
    siblings?.delete(feed)
    if (siblings?.size === 0) this.#byResource.delete(key)
  }

  /**
   * First what nobody reads, then the longest histories: who comes back lists anew. Then what has just grown: its readers go to
   * the API server by themselves.
   */
  #keepWithinBudget(grown: Feed): void {
    const reader = this.#budget.readerOf(grown)
    while (this.#budget.isReaderOver(reader)) {
      const isOfReader = (feed: Feed): boolean => this.#budget.readerOf(feed) === reader
      if (this.#dropOldest((feed) => feed !== grown && isOfReader(feed)) || this.#forgetHistory(isOfReader)) continue
      this.#abandonForSize(grown)
      return
    }
    while (this.#budget.isOver) {
      if (this.#dropOldest((feed) => feed !== grown) || this.#forgetHistory(() => true)) continue
      if (!grown.isForNode) this.#abandonForSize(grown)
      return
    }
  }

  #forgetHistory(isChosen: (feed: Feed) => boolean): boolean {
    let longest: Feed | undefined
    for (const feed of this.#feeds.values())
      if (isChosen(feed) && feed.history.forgettableBytes > (longest?.history.forgettableBytes ?? 0)) longest = feed
    if (longest === undefined) return false
    longest.history.forget()
    this.#budget.resize(longest, longest.heldBytes)
    return true
  }

  #abandonForSize(feed: Feed): void {
    const { logger, clock } = this.#options
    logger.warn({ feed: describeScope(feed.scope), bytes: feed.heldBytes }, 'a collection is too large to be kept here')
    feed.abandon(new Error('the collection is too large to be kept on this node'))
    this.drop(feed)
    this.#tooLarge.set(feed.scope.key, clock.monotonicMs() + TOO_LARGE_MS)
  }

  /** Of those that nobody reads; what the node itself needs goes last. */
  #dropOldest(isChosen: (feed: Feed) => boolean): boolean {
    const unread = [...this.#feeds.values()].filter((feed) => feed.members === 0 && isChosen(feed))
    const oldest = unread.find(({ isForNode }) => !isForNode) ?? unread[0]
    if (oldest !== undefined) this.drop(oldest)
    return oldest !== undefined
  }
}

function builtInType({ apiGroup, apiVersion, resource }: CollectionScope): CollectionType | undefined {
  const kind = findResource(apiGroup, apiVersion, resource)?.kind
  const version = joinGroupVersion(apiGroup, apiVersion)
  return kind === undefined ? undefined : { apiVersion: version, kind, listKind: `${kind}List` }
}

function resourceKey({ apiGroup, apiVersion, resource }: CollectionScope): string {
  return `${apiGroup}/${apiVersion}/${resource}`
}
