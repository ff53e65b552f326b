/** What is counted and told of reads, by whoever answers them. */
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually } from '../../../test/worlds/object-server.ts'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { readRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { FEED_LINGER_MS } from '../feeds/feed.ts'
import { Feeds } from '../feeds/feeds.ts'
import { identityOf } from '../readers/identity.ts'
import type { Reader, Readers, Recognised } from '../readers/readers.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { countedUpstream } from './counted-body.ts'
import { Documents } from './documents.ts'
import { USUAL_FEED_POLICY as policy } from './feed-policy.ts'
import { OfflineReads } from './offline-reads.ts'
import { OnlineReads } from './online-reads.ts'
import { FETCH_ASIDE_MS, FETCH_ASIDE_STAY_MS, PassingAnswers } from './passing-answers.ts'
import type { DecidedRead, ReadAudit } from './read-audit.ts'
import { type Reading, readingOf } from './reading.ts'
import { createReplicaMetrics, type ReplicaMetrics } from './replica-metrics.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { replicaNumbers, summarizeFeeds } from './replica-status.ts'

const pod = identityOf({ username: 'system:serviceaccount:default:pod', uid: 'u', groups: [], extra: {} })
const reader: Reader = { kind: 'token', pool: 'token', token: 't', tokenHash: 'h' }
const configMaps = '/api/v1/namespaces/default/configmaps'
const nothing = { size: 0 }

describe('reads that are counted', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let registry: Registry
  let metrics: ReplicaMetrics
  let feeds: Feeds
  let online: OnlineReads
  let offline: OfflineReads
  let recognised: Recognised
  let verdict: 'allowed' | 'denied' | undefined
  let told: DecidedRead[]

  beforeEach(() => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    registry = new Registry()
    recognised = { kind: 'known', identity: pod }
    verdict = 'allowed'
    told = []
    const logger = pino({ level: 'silent' })
    metrics = createReplicaMetrics(registry, () =>
      replicaNumbers({ feeds, documents: nothing, verdicts: nothing, tokens: nothing, signingKeys: nothing }, clock),
    )
    feeds = new Feeds({ upstream: countedUpstream(upstream, metrics), clock, random: () => 0.5, logger })
    feeds.setReachable(true)
    const audit = { decided: (read: DecidedRead) => told.push(read) } as unknown as ReadAudit
    const readers = {
      accountOf: () => 'reader',
      known: () => pod,
      admit: async () => pod,
      learn: async () => {},
      isOfNode: async () => false,
      review: async () => 'allowed',
      recognise: async () => recognised,
      verdictOf: () => verdict,
    } as unknown as Readers
    const shared = { feeds, readers, policy, clock, random: () => 0.5, metrics, audit }
    online = new OnlineReads({ ...shared, passing: new PassingAnswers(feeds, clock, logger) })
    offline = new OfflineReads({ ...shared, documents: new Documents(), offlineSinceMs: () => 0 })
  })

  function asked(target: string): [Reading, ReplicaRequest] {
    const { info, query } = readRequest({ method: 'GET', path: target })
    const headers = new RequestHeaders([['accept', 'application/json']])
    const head = { method: 'GET', info, query, headers }
    const up = (): Promise<UpstreamAnswer> =>
      upstream.request({
        pool: 'token',
        method: 'GET',
        target,
        headers: [['accept', 'application/json']],
        body: undefined,
        signal: new AbortController().signal,
      })
    const request = { ...head, reader, signal: new AbortController().signal, up, readBody: async () => Buffer.alloc(0) }
    return [readingOf(head) as Reading, request]
  }

  async function counted(name: string): Promise<Record<string, number>> {
    const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] }
    const entries = values.map(({ labels, value }) => [Object.values(labels).join(' '), value] as const)
    return Object.fromEntries(entries.filter(([, value]) => value > 0))
  }

  /** A watch from a feed, which has everything when this settles. */
  async function watched(): Promise<UpstreamAnswer> {
    const answering = online.answer(...asked(`${configMaps}?watch=true&resourceVersion=0`))
    const answer = await answering
    answer.body.read({ data: () => {}, end: () => {}, broken: () => {} })
    return answer
  }

  it('are those of the API server, of feeds, and those in between', async () => {
    upstream.put('tide', 'high')
    await online.answer(...asked(`${configMaps}/tide`))
    await watched()
    await watched()
    await online.answer(...asked(`${configMaps}?resourceVersion=0`))
    expect(await counted('causeway_edge_replica_reads_total')).toEqual({
      'get upstream': 1,
      'watch feed': 2,
      'list feed': 1,
    })
    expect(await counted('causeway_edge_feed_upstream_watches')).toEqual({ '': 1 })
    expect(await counted('causeway_edge_feed_readers')).toEqual({ '': 2 })
    const given = (await counted('causeway_edge_replica_given_bytes_total'))['feed'] ?? 0
    expect(given).toBeGreaterThan(0)
    expect((await counted('causeway_edge_feed_received_bytes_total'))['']).toBeGreaterThan(0)
    expect(told.map(({ user, info, code, source }) => [user, info.verb, code, source].join(' '))).toEqual([
      `${pod.user.username} watch 200 feed`,
      `${pod.user.username} watch 200 feed`,
      `${pod.user.username} list 200 feed`,
    ])
  })

  it('and those without the API server, with why some are refused', async () => {
    upstream.put('tide', 'high')
    await watched()
    upstream.cut()
    feeds.setReachable(false)
    await offline.answer(...asked(`${configMaps}/tide`))
    await expect(offline.answer(...asked(`${configMaps}/none`))).rejects.toMatchObject({ code: 404 })
    await expect(offline.answer(...asked('/api/v1/pods'))).rejects.toMatchObject({ code: 503 })
    verdict = 'denied'
    await expect(offline.answer(...asked(configMaps))).rejects.toMatchObject({ code: 403 })
    verdict = undefined
    await expect(offline.answer(...asked(configMaps))).rejects.toMatchObject({ code: 503 })
    recognised = { kind: 'rejected', why: 'forged' }
    await expect(offline.answer(...asked(configMaps))).rejects.toMatchObject({ code: 401 })
    recognised = { kind: 'unknown', why: 'a new key' }
    await expect(offline.answer(...asked(configMaps))).rejects.toMatchObject({ code: 503 })
    expect(await counted('causeway_edge_replica_refused_total')).toEqual({
      'token-rejected': 1,
      'token-unknown': 1,
      denied: 1,
      'verdict-unknown': 1,
      'not-kept': 1,
    })
    expect((await counted('causeway_edge_replica_reads_total'))['get offline']).toBe(1)
    // Of whom nobody knows there is nothing to tell.
    expect(told.filter(({ source }) => source === 'offline').map(({ code }) => code)).toEqual([200, 404, 503, 403, 503])
  })

  it('make what is kept current again, though the API server has forgotten the version of it', async () => {
    upstream.put('tide', 'high')
    const { body } = await watched()
    body.cancel()
    await clock.advance(FEED_LINGER_MS)
    upstream.put('tide', 'low')
    upstream.compact()
    await clock.advance(FETCH_ASIDE_MS)
    const [feed] = feeds.all
    const [reading, request] = asked(configMaps)
    const table = {
      ...reading,
      output: { ...reading.output, representation: { ...reading.output.representation, as: 'Table' } },
    }
    await online.answer(table as Reading, request)
    await eventually(() => feed?.state === 'failing')
    await clock.advance(FETCH_ASIDE_STAY_MS / 2)
    await eventually(() => feed?.version === String(upstream.revision))
    expect(feed?.isCurrent).toBe(true)
    // Whoever came for one look is gone with it.
    expect(feed?.members).toBe(0)
  })

  it('grow old together with what they were given', async () => {
    await watched()
    expect(await counted('causeway_edge_feed_oldest_seconds')).toEqual({})
    upstream.cut()
    feeds.setReachable(false)
    await clock.advance(60_000)
    await eventually(() => [...feeds.all].every(({ state }) => state === 'failing'))
    expect((await counted('causeway_edge_feed_oldest_seconds'))['']).toBe(60)
    expect(await counted('causeway_edge_feeds')).toEqual({ failing: 1 })
    const keeping = { status: { isOn: true } } as Parameters<typeof summarizeFeeds>[1]
    expect(summarizeFeeds(feeds, keeping)).toMatchObject([
      { resource: 'configmaps', namespace: 'default', objects: 0, state: 'failing', readers: 1, kept: 'disk' },
    ])
  })
})
