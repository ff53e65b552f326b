/**
 * The replica of this edge, put together: whether the API server can be reached, the feeds, who may read them, what is kept of
 * all this on disk, and what joins them.
 */
import { setMaxListeners } from 'node:events'
import type { Registry } from 'prom-client'
import type { Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { composeFeeds, type EdgeFeeds, isOfPods, isPodThere } from './compose-feeds.ts'
import { composeLocalPods, type EdgeLocalPods } from './compose-local-pods.ts'
import { composeReaders, type OfflineReaders } from './compose-readers.ts'
import type { Feeds } from './feeds/feeds.ts'
import type { HubClient } from './hub/hub-client.ts'
import { DiskKeeping } from './keeping/disk-keeping.ts'
import { createKeepingMetrics } from './keeping/keeping-metrics.ts'
import type { Keeping } from './keeping/kept.ts'
import { createProbe } from './reach/probe.ts'
import { Reach, type Reachability, type ReachLink } from './reach/reach.ts'
import type { Refused } from './reach/reach-core.ts'
import { AccessReviews } from './readers/access-reviews.ts'
import { nodeIdentity } from './readers/identity.ts'
import { Readers } from './readers/readers.ts'
import { TokenReviews } from './readers/token-review.ts'
import { Verdicts } from './readers/verdicts.ts'
import { countedUpstream } from './replica/counted-body.ts'
import { Documents } from './replica/documents.ts'
import { type FeedPolicy, USUAL_FEED_POLICY } from './replica/feed-policy.ts'
import { OfflineReads } from './replica/offline-reads.ts'
import { OnlineReads } from './replica/online-reads.ts'
import { PassingAnswers } from './replica/passing-answers.ts'
import { ReadAudit } from './replica/read-audit.ts'
import { Replica } from './replica/replica.ts'
import { presentFeed, ReplicaKeeping, type Restored } from './replica/replica-keeping.ts'
import { createReplicaMetrics, type ReplicaMetrics } from './replica/replica-metrics.ts'
import {
  type FeedSummary,
  type ReplicaStatus,
  replicaNumbers,
  replicaStatus,
  summarizeFeeds,
} from './replica/replica-status.ts'
import { TokenAnswers } from './replica/token-answers.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface ReplicaSettings {
  readonly policy?: FeedPolicy
  /** A key from outside for what is kept of Secrets and tokens. */
  readonly keyFile?: string | undefined
  /** How long an expired token that was seen here is good for while offline. */
  readonly tokenGraceMs?: number | undefined
}

export interface ComposeReplicaOptions {
  readonly node: string
  readonly dataDir: string
  readonly settings?: ReplicaSettings | undefined
  readonly upstream: Upstream
  /** Says what all readers may share. */
  readonly client: Pick<HubClient, 'localGroupVersions'>
  readonly links: ReachLink & { readonly shortestRttMs: number | undefined }
  /** Whether the node has a certificate to ask the API server with. */
  readonly hasNodePair: () => boolean
  readonly kubeProxyToken: () => string | undefined
  /** Whether the account of that name is one of kube-proxy. */
  readonly isKubeProxy: (username: string) => boolean
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
  readonly keeping: Keeping
  readonly status: () => ReplicaStatus
  readonly summarizeFeeds: () => FeedSummary[]
  readonly localPods: EdgeLocalPods
}

export function composeReplica(options: ComposeReplicaOptions): EdgeReplica {
  const { upstream, settings = {}, clock, random, registry } = options
  const logger = componentLogger(options.logger, 'edge/replica')
  const keeping: DiskKeeping = new DiskKeeping({
    dataDir: options.dataDir,
    keyFile: settings.keyFile,
    clock,
    logger: componentLogger(options.logger, 'edge/keeping'),
    metrics: createKeepingMetrics(registry, () => keeping.status),
    presentFeed: (key) => presentFeed(feeds, key),
  })
  const kept = new ReplicaKeeping({ keeping, logger })
  const reach = composeReach(options, kept)
  const offlineReaders = composeReaders({
    upstream,
    token: options.kubeProxyToken,
    state: (name) => kept.state(name),
    graceMs: settings.tokenGraceMs,
    clock,
    random,
    logger: componentLogger(options.logger, 'edge/readers'),
  })
  const { signingKeys } = offlineReaders
  const metrics: ReplicaMetrics = createReplicaMetrics(registry, () =>
    replicaNumbers({ feeds, documents, verdicts, tokens, signingKeys }, clock),
  )
  const { feeds, groups, policy, forgetUnshared }: EdgeFeeds = composeFeeds({
    upstream: countedUpstream(upstream, metrics),
    client: options.client,
    chosen: settings.policy ?? USUAL_FEED_POLICY,
    kept,
    podDeleted: (uid) => offlineReaders.podDeleted(uid),
    clock,
    random,
    logger,
    registry,
  })
  const ended = new AbortController()
  // Each review that is under way has one; how many those are is limited with the requests they are for.
  setMaxListeners(0, ended.signal)
  const reviewing = { upstream, clock, signal: ended.signal }
  const verdicts: Verdicts = new Verdicts({
    spared: nodeIdentity(options.node).key,
    changed: (key, verdict) => kept.verdictChanged(key, verdict),
  })
  const readers = new Readers({
    node: options.node,
    reviews: new TokenReviews(reviewing),
    access: new AccessReviews(reviewing),
    verdicts,
    accepted: (token) => offlineReaders.accepted(token),
    rejected: (token) => offlineReaders.rejected(token),
    recognise: (token) => offlineReaders.recognise(token),
    isGraceOver: () => offlineReaders.isGraceOver(),
    isKubeProxy: options.isKubeProxy,
  })
  const documents: Documents = new Documents({ changed: (key, document) => kept.documentChanged(key, document) })
  const tokens: TokenAnswers = new TokenAnswers({
    isPodThere: (uid) => !offlineReaders.isPodDeleted(uid) && isPodThere(feeds, uid),
    issued: (token) => offlineReaders.issued(token),
    changed: (key, answer) => kept.tokenChanged(key, answer),
  })
  const audit = new ReadAudit(clock, componentLogger(options.logger, 'edge/audit'))
  const localPods = composeLocalPods({ node: options.node, feeds, whyOffline: () => reach.now.why, clock, registry })
  const shared = { feeds, readers, policy, clock, random, metrics, audit }
  const passing = new PassingAnswers(feeds, clock, logger, (scope, object) => {
    if (isOfPods({ scope })) offlineReaders.podDeleted(object.metadata.uid ?? '')
  })
  // Before anybody else hears of it, and reads.
  reach.onChange(({ state }) => {
    if (state === 'offline') passing.cutOff()
  })
  const replica = new Replica({
    node: options.node,
    reach,
    metrics,
    audit,
    clock,
    online: new OnlineReads({ ...shared, passing }),
    offline: new OfflineReads({ ...shared, documents, offlineSinceMs: () => reach.now.sinceMs }),
    documents,
    tokens,
    statuses: localPods.statuses,
    isOff: policy.isOff,
    told: (date) => offlineReaders.told(date),
  })
  const everything = { feeds, verdicts, documents, tokens }
  const keepingPart: Part = {
    name: 'keeping',
    start: async () => {
      await kept.restore({ ...everything, policy })
      return { stop: () => keeping.close() }
    },
  }
  const following = followReach({
    ...{ reach, kept, everything, groups, localPods, offlineReaders, logger },
    started: forgetUnshared,
    stopped: () => ended.abort(new Error('the endpoint ends')),
  })
  // What the run before has left before anybody asks for it.
  return {
    parts: [keepingPart, ...offlineReaders.parts, ...(policy.isOff ? [] : [groups]), reach, following],
    replica,
    readers,
    feeds,
    reach,
    keeping,
    localPods,
    status: () => replicaStatus({ feeds, reach, keeping, documents, verdicts, tokens, signingKeys }),
    summarizeFeeds: () => summarizeFeeds(feeds, keeping),
  }
}

function composeReach(options: ComposeReplicaOptions, kept: ReplicaKeeping): Reach {
  const { upstream, links, hasNodePair, clock, random, logger, net, registry } = options
  const pool = (): 'node' | 'open' => (hasNodePair() ? 'node' : 'open')
  const probe = createProbe({ upstream, pool, rttMs: () => links.shortestRttMs, clock })
  const refusedBefore = (): Refused | undefined => kept.refusedBefore
  return new Reach({ link: links, probe, refusedBefore, clock, random, logger, net, registry })
}

interface FollowReachOptions {
  readonly reach: Reach
  readonly kept: ReplicaKeeping
  readonly everything: Omit<Restored, 'policy'>
  readonly groups: EdgeFeeds['groups']
  readonly localPods: EdgeLocalPods
  readonly offlineReaders: OfflineReaders
  readonly logger: Logger
  readonly started: () => void
  readonly stopped: () => void
}

/** Has everybody who must hear it hear whether the API server can be reached, from the start on. */
function followReach({ reach, started, stopped, ...others }: FollowReachOptions): Part {
  const { everything, localPods } = others
  return {
    name: 'feeds',
    start: () => {
      // Where what the hub said was lost with a damaged record, or with its key.
      started()
      const unlisten = reach.onChange((now) => tellReach(now, others))
      tellReach(reach.now, others)
      const stop = (): Promise<void> => {
        unlisten()
        stopped()
        localPods.close()
        everything.feeds.close()
        return Promise.resolve()
      }
      return Promise.resolve({ stop })
    },
  }
}

function tellReach(
  { state, refusedBy, why }: Reachability,
  {
    kept,
    everything,
    groups,
    localPods,
    offlineReaders,
    logger,
  }: Omit<FollowReachOptions, 'reach' | 'started' | 'stopped'>,
): void {
  const { feeds } = everything
  const isOnline = state === 'online'
  if (refusedBy === 'hub') {
    groups.forget()
    kept.erase(everything, { by: refusedBy, why }).catch((error: unknown) => {
      logger.error({ err: error }, 'what was kept could not be erased; remove the folder replica by hand')
    })
  } else if (refusedBy === 'api-server') {
    // It may yet take the node again: what is kept stays, and nobody is served from it, also after a restart.
    kept.refused({ by: refusedBy, why })
    feeds.endReaders(new Error(why))
  } else if (isOnline) kept.refused(undefined)
  feeds.setReachable(isOnline)
  localPods.setOnline(isOnline)
  if (isOnline) groups.reachable()
  if (isOnline) offlineReaders.wentOnline()
  else offlineReaders.wentOffline()
}
