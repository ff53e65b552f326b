/** What the replica tells of itself to whoever administers the node: in all, and feed by feed. */
import { formatFieldSelector } from '../../kube/selectors/field.ts'
import { formatLabelSelector } from '../../kube/selectors/label.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Feed, FeedState } from '../feeds/feed.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { Keeping, KeepingStatus } from '../keeping/kept.ts'
import type { Reach } from '../reach/reach.ts'
import { isKept, isSecret } from './replica-keeping.ts'
import type { ReplicaNumbers } from './replica-metrics.ts'

export interface ReachStatus {
  readonly state: string
  readonly since: string
  readonly why: string | undefined
  /** Who will not have this node any more, in the state `refused`. */
  readonly refusedBy: string | undefined
}

export interface FeedTotals {
  readonly feeds: number
  readonly objects: number
  /** Of objects as they came, without what the histories hold. */
  readonly bytes: number
  readonly readers: number
}

export interface ReplicaStatus extends FeedTotals {
  readonly reach: ReachStatus
  readonly documents: number
  readonly verdicts: number
  readonly tokens: number
  /** Of the API server, by which the tokens of readers are known without it; with none nobody is. */
  readonly signingKeys: number
  readonly keeping: Omit<KeepingStatus, 'lastFlushMs'> & { readonly lastFlush: string | undefined }
}

export interface FeedSummary {
  /** With its group: `leases.coordination.k8s.io`. */
  readonly resource: string
  readonly apiVersion: string
  /** Absent for all namespaces, and for what is in none. */
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  readonly objects: number
  readonly bytes: number
  /** Absent where there was never a whole list. */
  readonly resourceVersion: string | undefined
  readonly state: FeedState
  readonly readers: number
  /** When it was last known to be what the API server has. */
  readonly currentAt: string | undefined
  readonly kept: 'disk' | 'encrypted' | 'memory'
  /** Whether the node's own programs read it, so that it is dropped last. */
  readonly forNode: boolean
  /** Whether it is one reader's alone, since its server may show others something else. */
  readonly ofOneReader: boolean
  readonly problem: string | undefined
}

/** Anything that knows how many it has. */
interface Counted {
  readonly size: number
}

export interface ReplicaParts {
  readonly feeds: Feeds
  readonly reach: Reach
  readonly keeping: Pick<Keeping, 'status'>
  readonly documents: Counted
  readonly verdicts: Counted
  readonly tokens: Counted
  readonly signingKeys: Counted
}

export function replicaStatus(parts: ReplicaParts): ReplicaStatus {
  const { feeds, reach, keeping, documents, verdicts, tokens, signingKeys } = parts
  const { state, sinceMs, why, refusedBy } = reach.now
  const { lastFlushMs, ...rest } = keeping.status
  return {
    reach: { state, since: isoTime(sinceMs), why: why || undefined, refusedBy },
    ...totalsOf(feeds),
    documents: documents.size,
    verdicts: verdicts.size,
    tokens: tokens.size,
    signingKeys: signingKeys.size,
    keeping: { ...rest, lastFlush: lastFlushMs === undefined ? undefined : isoTime(lastFlushMs) },
  }
}

function totalsOf(feeds: Feeds): FeedTotals {
  let [objects, bytes, readers] = [0, 0, 0]
  for (const feed of feeds.all) {
    objects += feed.objects.size
    bytes += feed.bytes
    readers += feed.members
  }
  return { feeds: feeds.size, objects, bytes, readers }
}

/** For metrics. */
export function replicaNumbers(
  { feeds, documents, verdicts, tokens, signingKeys }: Omit<ReplicaParts, 'reach' | 'keeping'>,
  clock: Clock,
): ReplicaNumbers {
  const states = { following: 0, starting: 0, resting: 0, failing: 0 }
  let oldestMs = 0
  for (const feed of feeds.all) {
    states[feed.state] += 1
    const isRead = feed.members > 0 && feed.isComplete
    if (isRead) oldestMs = Math.max(oldestMs, clock.nowMs() - feed.currentAtMs)
  }
  const { objects, bytes, readers } = totalsOf(feeds)
  const known = { documents: documents.size, verdicts: verdicts.size, tokens: tokens.size }
  return { states, objects, bytes, readers, oldestMs, ...known, signingKeys: signingKeys.size }
}

/** In the order of their names. */
export function summarizeFeeds(feeds: Feeds, keeping: Pick<Keeping, 'status'>): FeedSummary[] {
  const { isOn } = keeping.status
  return [...feeds.all].map((feed) => summarize(feed, isOn)).toSorted(byName)
}

function summarize(feed: Feed, isKeepingOn: boolean): FeedSummary {
  const { scope, version, state, members, currentAtMs, isForNode, lastError } = feed
  const { apiGroup, apiVersion, resource, namespace, labels, fields, owner } = scope
  const isOnDisk = isKeepingOn && feed.isComplete && isKept(feed)
  return {
    resource: apiGroup === '' ? resource : `${resource}.${apiGroup}`,
    apiVersion,
    namespace: namespace || undefined,
    labelSelector: formatLabelSelector(labels) || undefined,
    fieldSelector: formatFieldSelector(fields) || undefined,
    objects: feed.objects.size,
    bytes: feed.bytes,
    resourceVersion: version || undefined,
    state,
    readers: members,
    currentAt: currentAtMs === 0 ? undefined : isoTime(currentAtMs),
    kept: isOnDisk ? (isSecret(feed) ? 'encrypted' : 'disk') : 'memory',
    forNode: isForNode,
    ofOneReader: owner !== '',
    problem: state === 'failing' ? lastError?.message : undefined,
  }
}

function byName(a: FeedSummary, b: FeedSummary): number {
  return nameOf(a) < nameOf(b) ? -1 : 1
}

function nameOf({ resource, namespace = '', labelSelector = '', fieldSelector = '' }: FeedSummary): string {
  return [resource, namespace, labelSelector, fieldSelector].join(' ')
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
