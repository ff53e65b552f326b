/**
 * The replica of this edge, put together: whether the API server can be reached, the feeds, who may read them, and what joins
 * them.
 */
import type { Registry } from 'prom-client'
import type { Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { Feeds } from './feeds/feeds.ts'
import { createProbe } from './reach/probe.ts'
import { Reach, type ReachLink } from './reach/reach.ts'
import { AccessReviews } from './readers/access-reviews.ts'
import { Readers } from './readers/readers.ts'
import { TokenReviews } from './readers/token-review.ts'
import { Verdicts } from './readers/verdicts.ts'
import { Documents } from './replica/documents.ts'
import { type FeedPolicy, USUAL_FEED_POLICY } from './replica/feed-policy.ts'
import { OfflineReads } from './replica/offline-reads.ts'
import { OnlineReads } from './replica/online-reads.ts'
import { PassingAnswers } from './replica/passing-answers.ts'
import { Replica } from './replica/replica.ts'
import { TokenAnswers } from './replica/token-answers.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface ComposeReplicaOptions {
  readonly node: string
  readonly upstream: Upstream
  readonly links: ReachLink & { readonly shortestRttMs: number | undefined }
  /** Whether the node has a certificate to ask the API server with. */
  readonly hasNodePair: () => boolean
  readonly policy?: FeedPolicy
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
}

export interface EdgeReplica {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly replica: Replica
  readonly readers: Readers
  readonly feeds: Feeds
  readonly reach: Reach
}

export function composeReplica(options: ComposeReplicaOptions): EdgeReplica {
  const { node, upstream, links, hasNodePair, policy = USUAL_FEED_POLICY, clock, random, net, registry } = options
  const logger = componentLogger(options.logger, 'edge/replica')
  const pool = (): 'node' | 'open' => (hasNodePair() ? 'node' : 'open')
  const reach = new Reach({
    link: links,
    probe: createProbe({ upstream, pool, rttMs: () => links.shortestRttMs, clock }),
    clock,
    random,
    logger: options.logger,
    net,
    registry,
  })
  const feeds = new Feeds({ upstream, clock, random, logger })
  const ended = new AbortController()
  const reviewing = { upstream, clock, signal: ended.signal }
  const readers = new Readers({
    node,
    reviews: new TokenReviews(reviewing),
    access: new AccessReviews(reviewing),
    verdicts: new Verdicts(),
  })
  const documents = new Documents()
  const tokens = new TokenAnswers({ isPodThere: (uid) => isPodThere(feeds, uid) })
  const shared = { feeds, readers, policy, clock, random }
  const replica = new Replica({
    reach,
    clock,
    online: new OnlineReads({ ...shared, passing: new PassingAnswers(feeds, logger) }),
    offline: new OfflineReads({ ...shared, documents, offlineSinceMs: () => reach.now.sinceMs }),
    documents,
    tokens,
  })
  const following: Part = {
    name: 'feeds',
    start: () => {
      const reachChanged = (): void => feeds.setReachable(reach.now.state === 'online')
      const unlisten = reach.onChange(reachChanged)
      reachChanged()
      const stop = (): Promise<void> => {
        unlisten()
        ended.abort(new Error('the endpoint ends'))
        feeds.close()
        return Promise.resolve()
      }
      return Promise.resolve({ stop })
    },
  }
  return { parts: [reach, following], replica, readers, feeds, reach }
}

function isPodThere(feeds: Feeds, uid: string): boolean {
  for (const { scope, objects } of feeds.all) {
    if (scope.apiGroup !== '' || scope.resource !== 'pods') continue
    for (const { metadata } of objects.values()) if (metadata.uid === uid) return true
  }
  return false
}
