/**
 * The feeds of this edge, put together: what they are followed by, who shares them, and who hears of what moves in them. Also
 * what feeds of pods say of pods, by which their tokens are good or not.
 */
import type { Registry } from 'prom-client'
import { joinGroupVersion } from '../kube/schema/catalogue.ts'
import { isEmptyLabelSelector } from '../kube/selectors/label.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createGroupMetrics } from './api-groups/group-metrics.ts'
import { LocalGroups } from './api-groups/local-groups.ts'
import type { Feed } from './feeds/feed.ts'
import { Feeds } from './feeds/feeds.ts'
import type { HubClient } from './hub/hub-client.ts'
import { type FeedPolicy, sharingLocal } from './replica/feed-policy.ts'
import type { ReplicaKeeping } from './replica/replica-keeping.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface ComposeFeedsOptions {
  readonly upstream: Pick<Upstream, 'request'>
  /** Says what all readers may share. */
  readonly client: Pick<HubClient, 'localGroupVersions'>
  /** What the operator wants to be kept; shares built-in resources. */
  readonly chosen: FeedPolicy
  readonly kept: ReplicaKeeping
  /** Hears the uid of a pod that is no more. */
  readonly podDeleted: (uid: string) => void
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly registry: Registry
}

export interface EdgeFeeds {
  readonly feeds: Feeds
  readonly groups: LocalGroups
  /** Shares custom resources, too. */
  readonly policy: FeedPolicy
  /** Drops shared feeds of which it is not known any more that they may be. */
  readonly forgetUnshared: () => void
}

export function composeFeeds(options: ComposeFeedsOptions): EdgeFeeds {
  const { upstream, client, chosen, kept, podDeleted, clock, random, logger, registry } = options
  const feeds = new Feeds({
    upstream,
    clock,
    random,
    logger,
    moved: (feed, changes) => {
      kept.feedMoved(feed, changes)
      if (isOfPods(feed) && showsDeletions(feed))
        for (const { type, object } of changes) if (type === 'deleted') podDeleted(object.metadata.uid ?? '')
    },
    dropped: (feed) => kept.feedDropped(feed),
  })
  /** Of what is shared only as long as the API server serves it itself. */
  const isCustom = ({ scope }: Feed): boolean => scope.owner === '' && !chosen.isShared(scope)
  const groups = new LocalGroups({
    client,
    kept: kept.state('api-groups'),
    // What one was shown must never be given to another, nor what is left of that once it may be shared again.
    changed: (changed) =>
      feeds.abandon(
        new Error('another server has this group now, or had it'),
        (feed) => isCustom(feed) && changed.has(joinGroupVersion(feed.scope.apiGroup, feed.scope.apiVersion)),
      ),
    clock,
    random,
    logger,
  })
  createGroupMetrics(registry, () => groups.size)
  return {
    feeds,
    groups,
    policy: sharingLocal(chosen, (info) => groups.has(info)),
    forgetUnshared: () =>
      feeds.abandon(
        new Error('who serves this group is not known'),
        (feed) => isCustom(feed) && !groups.has(feed.scope),
      ),
  }
}

export function isOfPods({ scope }: Pick<Feed, 'scope'>): boolean {
  return scope.apiGroup === '' && scope.resource === 'pods'
}

/** What leaves a selection need not be gone; a pod's name and node never change. */
const lastingFields: ReadonlySet<string> = new Set(['metadata.name', 'spec.nodeName'])

function showsDeletions({ scope }: Feed): boolean {
  const { labels, fields } = scope
  const isLasting = fields.matches === 'terms' && fields.terms.every(({ field }) => lastingFields.has(field))
  return isLasting && isEmptyLabelSelector(labels)
}

export function isPodThere(feeds: Feeds, uid: string): boolean {
  for (const feed of feeds.all) {
    if (!isOfPods(feed)) continue
    for (const { metadata } of feed.objects.values()) if (metadata.uid === uid) return true
  }
  return false
}
