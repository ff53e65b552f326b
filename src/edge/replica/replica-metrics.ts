/** Numbers about the replica. No client can make a label: all come from short lists. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { FeedState } from '../feeds/feed.ts'

/** `token`: the kubelet's requests for tokens of pods; `document`: discovery, OpenAPI, the version, the keys of tokens. */
export const READ_VERBS = ['get', 'list', 'watch', 'document', 'token'] as const
export type ReadVerb = (typeof READ_VERBS)[number]

/** `relayed`: a watch that began at the API server, and goes on from a feed. */
export const READ_SOURCES = ['upstream', 'feed', 'relayed', 'offline'] as const
export type ReadSource = (typeof READ_SOURCES)[number]

/**
 * `token-rejected` (401), `denied` (403), and 503 for the others: nobody here knows the token or the verdict, the collection was
 * not kept, or not in a form that was asked for; `never-kept`: a write, a log, or a request in another's name.
 */
export const OFFLINE_REFUSALS = [
  'token-rejected',
  'token-unknown',
  'denied',
  'verdict-unknown',
  'not-kept',
  'inexact',
  'never-kept',
] as const
export type OfflineRefusal = (typeof OFFLINE_REFUSALS)[number]

export interface ReplicaMetrics {
  read(verb: ReadVerb, source: ReadSource): void
  refused(reason: OfflineRefusal): void
  /** To readers, from feeds. */
  given(source: 'feed' | 'offline', bytes: number): void
  /** By feeds, from the API server. */
  received(bytes: number): void
  watchOpened(): void
  watchEnded(): void
}

export interface ReplicaNumbers {
  readonly states: Readonly<Record<FeedState, number>>
  readonly objects: number
  readonly bytes: number
  readonly readers: number
  /** Of the feed with readers that was current longest ago. */
  readonly oldestMs: number
  readonly documents: number
  readonly verdicts: number
  readonly tokens: number
  readonly signingKeys: number
}

export function createReplicaMetrics(registry: Registry, numbers: () => ReplicaNumbers): ReplicaMetrics {
  const registers = [registry]
  addGauges(registers, numbers)
  const reads = new Counter({
    name: 'causeway_edge_replica_reads_total',
    help: 'Reads answered, by verb and by whom: the API server (upstream), a feed, both in turn (relayed), or what was kept (offline).',
    labelNames: ['verb', 'source'],
    registers,
  })
  const refused = new Counter({
    name: 'causeway_edge_replica_refused_total',
    help: 'Requests refused while the API server could not be reached: token-rejected (401), denied (403), and with 503 token-unknown, verdict-unknown, not-kept, inexact (not in the form asked for) and never-kept (writes, logs).',
    labelNames: ['reason'],
    registers,
  })
  const given = new Counter({
    name: 'causeway_edge_replica_given_bytes_total',
    help: 'Bytes of lists and watch events that readers were given from feeds, online (feed) and offline; without compression.',
    labelNames: ['source'],
    registers,
  })
  const received = new Counter({
    name: 'causeway_edge_feed_received_bytes_total',
    help: 'Bytes of lists and watch events that feeds took from the API server for their readers, as they crossed the link.',
    registers,
  })
  const watches = new Gauge({
    name: 'causeway_edge_feed_upstream_watches',
    help: 'Watches of the API server that feeds have open, however many readers share them.',
    registers,
  })
  for (const verb of READ_VERBS)
    for (const source of READ_SOURCES) if (isPossible(verb, source)) reads.inc({ verb, source }, 0)
  for (const reason of OFFLINE_REFUSALS) refused.inc({ reason }, 0)
  return {
    read: (verb, source) => reads.inc({ verb, source }),
    refused: (reason) => refused.inc({ reason }),
    given: (source, bytes) => given.inc({ source }, bytes),
    received: (bytes) => received.inc(bytes),
    watchOpened: () => watches.inc(),
    watchEnded: () => watches.dec(),
  }
}

function isPossible(verb: ReadVerb, source: ReadSource): boolean {
  if (source === 'relayed') return verb === 'watch'
  return source !== 'feed' || verb === 'list' || verb === 'watch'
}

function addGauges(registers: Registry[], numbers: () => ReplicaNumbers): void {
  const feeds = new Gauge({
    name: 'causeway_edge_feeds',
    help: 'Feeds by state: following, starting, resting (nobody reads) or failing (the API server cannot be asked).',
    labelNames: ['state'],
    registers,
    collect: () => {
      for (const [state, count] of Object.entries(numbers().states)) feeds.set({ state }, count)
    },
  })
  const kept = new Gauge({
    name: 'causeway_edge_replica_kept',
    help: 'What is known besides feeds: documents about the API, verdicts on readers, tokens given to the kubelet, and signing-keys by which the tokens of readers are known.',
    labelNames: ['kind'],
    registers,
    collect: () => {
      const { documents, verdicts, tokens, signingKeys } = numbers()
      const counts = { documents, verdicts, tokens, 'signing-keys': signingKeys }
      for (const [kind, count] of Object.entries(counts)) kept.set({ kind }, count)
    },
  })
  addGauge(
    registers,
    'causeway_edge_feed_objects',
    'Objects in feeds; one that is in two feeds counts twice.',
    () => numbers().objects,
  )
  addGauge(registers, 'causeway_edge_feed_bytes', 'Bytes of those objects, as they came.', () => numbers().bytes)
  addGauge(registers, 'causeway_edge_feed_readers', 'Watches of clients that feeds serve.', () => numbers().readers)
  addGauge(
    registers,
    'causeway_edge_feed_oldest_seconds',
    'For how long the feed with readers that has gone longest without news has not been known to be current; 0 while all follow.',
    () => numbers().oldestMs / 1000,
  )
}

function addGauge(registers: Registry[], name: string, help: string, value: () => number): void {
  const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) })
}
