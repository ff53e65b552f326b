/** All feeds of an edge, by their key: made when somebody reads what they hold, within limits, and found by what they cover. */

import { isNotNewer } from '../../kube/reflector/versions.ts'
import { findResource, joinGroupVersion } from '../../kube/schema/catalogue.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CollectionScope } from './collection-scope.ts'
import { Feed, type FeedOptions, type RestoredList } from './feed.ts'
import type { CollectionType } from './representing.ts'
import { covers } from './selection.ts'

/** A kubelet alone has one for each ConfigMap and Secret of its pods. */
export const MAX_FEEDS = 4_096
/** After a link comes back its feeds ask again within this time, each at a moment of its own. */
export const FEED_RESUME_SPREAD_MS = 1_000

export interface FeedsOptions extends Pick<FeedOptions, 'upstream' | 'moved'> {
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  /** Hears of a feed that is no more. */
  readonly dropped?: (feed: Feed) => void
}

export class Feeds {
  readonly #options: FeedsOptions
  /** Those that were used last stand last. */
  readonly #feeds = new Map<string, Feed>()
  #isReachable = false

  constructor(options: FeedsOptions) {
    this.#options = options
  }

  get all(): Iterable<Feed> {
    return this.#feeds.values()
  }

  get size(): number {
    return this.#feeds.size
  }

  find(scope: CollectionScope): Feed | undefined {
    return this.#feeds.get(scope.key)
  }

  byKey(key: string): Feed | undefined {
    return this.#feeds.get(key)
  }

  /** Undefined where there are too many that are read. */
  ensure(scope: CollectionScope): Feed | undefined {
    const known = this.#feeds.get(scope.key)
    if (known !== undefined) {
      this.#feeds.delete(scope.key)
      this.#feeds.set(scope.key, known)
      return known
    }
    if (this.#feeds.size >= MAX_FEEDS && !this.#dropOldest()) return undefined
    return this.#add(scope)
  }

  restore(scope: CollectionScope, restored: RestoredList, type: CollectionType | undefined): Feed | undefined {
    return this.#feeds.size >= MAX_FEEDS ? undefined : this.#add(scope, restored, type)
  }

  /** The feed that knows most recently what is asked for, and all of it. */
  covering(scope: CollectionScope): Feed | undefined {
    let best: Feed | undefined
    for (const feed of this.#feeds.values()) {
      if (!feed.isComplete || !covers(feed.scope, scope)) continue
      if (best === undefined || isNotNewer(best.version, feed.version)) best = feed
    }
    return best
  }

  drop(feed: Feed): void {
    if (this.#feeds.get(feed.scope.key) !== feed) return
    this.#feeds.delete(feed.scope.key)
    feed.close()
    this.#options.dropped?.(feed)
  }

  setReachable(isReachable: boolean): void {
    if (this.#isReachable === isReachable) return
    this.#isReachable = isReachable
    for (const feed of this.#feeds.values())
      feed.setReachable(isReachable, this.#options.random() * FEED_RESUME_SPREAD_MS)
  }

  /** Ends all readers, and forgets everything. */
  abandon(error: Error): void {
    for (const feed of [...this.#feeds.values()]) {
      feed.abandon(error)
      this.drop(feed)
    }
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.close()
    this.#feeds.clear()
  }

  #add(scope: CollectionScope, restored?: RestoredList, type = builtInType(scope)): Feed {
    const feed = new Feed({ ...this.#options, scope, restored, type })
    if (!this.#isReachable) feed.setReachable(false)
    this.#feeds.set(scope.key, feed)
    return feed
  }

  /** Of those that nobody reads; what the node itself needs goes last. */
  #dropOldest(): boolean {
    const unread = [...this.#feeds.values()].filter(({ members }) => members === 0)
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
