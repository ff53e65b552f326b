import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamOf } from '../../../test/worlds/byte-sources.ts'
import { rest } from '../../../test/worlds/object-server.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { headerListOf, RequestHeaders } from '../../http/server/exchange.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { parseQuery } from '../../kube/request-query.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { Feeds } from '../feeds/feeds.ts'
import { LocalPods } from '../local-pods/local-pods.ts'
import type { Reachability } from '../reach/reach.ts'
import { AccessReviews } from '../readers/access-reviews.ts'
import { Readers, type Recognised } from '../readers/readers.ts'
import { TokenReviews } from '../readers/token-review.ts'
import { Verdicts } from '../readers/verdicts.ts'
import { type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import { Documents } from './documents.ts'
import { USUAL_FEED_POLICY } from './feed-policy.ts'
import { OfflineReads } from './offline-reads.ts'
import { OnlineReads } from './online-reads.ts'
import { PassingAnswers } from './passing-answers.ts'
import { PodStatuses } from './pod-statuses.ts'
import { Replica, SLOW_ANSWER_MS } from './replica.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { TokenAnswers } from './token-answers.ts'

const own = '/apis/storage.k8s.io/v1/csinodes/edge-1'
const csiNodes = '/apis/storage.k8s.io/v1/csinodes'

function csiNode(resourceVersion: string, ...drivers: string[]): object {
  return {
    kind: 'CSINode',
    apiVersion: 'storage.k8s.io/v1',
    metadata: { name: 'edge-1', uid: 'u', resourceVersion },
    spec: { drivers: drivers.map((name) => ({ name, nodeID: 'edge-1' })) },
  }
}

/** A node of which nobody but the kubelet asks for anything, with an API server that says what a test has it say. */
class World {
  readonly clock = new ManualClock()
  readonly replica: Replica
  doubts = 0
  state: Reachability['state'] = 'online'
  #hear: (now: Reachability) => void = () => {}

  constructor() {
    const { clock } = this
    const random = (): number => 0.5
    const logger = pino({ level: 'silent' })
    const upstream = {
      status: { pools: [], upgrades: 0 },
      request: () => Promise.reject(new UpstreamError('offline', 'nobody is there')),
    }
    const feeds = new Feeds({ upstream, clock, random, logger })
    const reviewing = { upstream, clock, signal: new AbortController().signal }
    const readers = new Readers({
      node: 'edge-1',
      reviews: new TokenReviews(reviewing),
      access: new AccessReviews(reviewing),
      verdicts: new Verdicts(),
    })
    const documents = new Documents()
    const shared = { feeds, readers, policy: USUAL_FEED_POLICY, clock, random }
    this.replica = new Replica({
      node: 'edge-1',
      reach: this.#reach(),
      clock,
      online: new OnlineReads({ ...shared, passing: new PassingAnswers(feeds, clock, logger) }),
      offline: new OfflineReads({ ...shared, documents, offlineSinceMs: () => clock.nowMs() }),
      documents,
      tokens: new TokenAnswers({ isPodThere: () => true }),
      statuses: new PodStatuses({
        node: 'edge-1',
        localPods: new LocalPods({ run: 'a', upstreamOf: () => undefined, clock }),
        metrics: { reported: () => {} },
        served: () => undefined,
        whyOffline: () => 'a test says so',
        clock,
      }),
    })
    this.#hear(this.#now)
  }

  get #now(): Reachability {
    return { state: this.state, sinceMs: 0, changedMs: 0, why: 'a test says so', refusedBy: undefined }
  }

  #reach(): ConstructorParameters<typeof Replica>[0]['reach'] {
    const now = (): Reachability => this.#now
    return {
      get now() {
        return now()
      },
      answered: () => {},
      failed: () => {},
      doubt: () => {
        this.doubts += 1
      },
      confirm: () => Promise.resolve(this.state),
      nodeRejected: () => {},
      onChange: (listener) => {
        this.#hear = listener
        return () => {}
      },
    }
  }

  /** As the kubelet; `answer` is what the API server says to it. */
  ask(method: string, target: string, answer: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    const [, query = ''] = target.split('?')
    const request: ReplicaRequest = {
      method,
      info: parseRequestInfo({ method, path: target }),
      query: parseQuery(query),
      headers: new RequestHeaders(headerListOf([])),
      reader: { kind: 'node', pool: 'node', token: undefined, tokenHash: '' },
      signal: new AbortController().signal,
      readBody: () => Promise.resolve(Buffer.alloc(0)),
      up: answer,
    }
    return this.replica.answer(request)
  }

  async told(method: string, target: string, status: number, object: object): Promise<void> {
    const headers = [['content-type', 'application/json']] as const
    const body = new BytesSource(Buffer.from(JSON.stringify(object)))
    const given = await this.ask(method, target, () => Promise.resolve({ status, headers, body, trailers: () => [] }))
    await text(streamOf(given.body))
    await rest()
  }

  /** What it is given without the API server. */
  async kept(target: string): Promise<{ status: number; object: Record<string, unknown> }> {
    this.state = 'offline'
    const { status, body } = await this.ask('GET', target, () => Promise.reject(new Error('nobody is to be asked')))
    return { status, object: JSON.parse(await text(streamOf(body))) as Record<string, unknown> }
  }
}

describe('a kubelet that starts without the API server', () => {
  let world: World
  const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }

  beforeEach(() => {
    world = new World()
  })

  it('is given its CSINode as it made it, though it was never given one before', async () => {
    await world.told('GET', `${own}?resourceVersion=0`, 404, missing)
    await world.told('POST', csiNodes, 201, csiNode('7'))
    expect(await world.kept(`${own}?resourceVersion=0`)).toEqual({ status: 200, object: csiNode('7') })
  })

  it('is given it with the drivers that it wrote into it later', async () => {
    await world.told('GET', own, 200, csiNode('7'))
    await world.told('PATCH', own, 200, csiNode('9', 'disk.example.com'))
    expect((await world.kept(own)).object).toEqual(csiNode('9', 'disk.example.com'))
  })

  it('is not told that there is none because there was none once', async () => {
    await world.told('GET', own, 404, missing)
    await expect(world.kept(own)).rejects.toMatchObject({ code: 503 })
  })

  it('is not given what it only tried to write', async () => {
    await world.told('GET', own, 200, csiNode('7'))
    await world.told('PATCH', `${own}?dryRun=All`, 200, csiNode('9', 'disk.example.com'))
    expect((await world.kept(own)).object).toEqual(csiNode('7'))
  })

  it('is given a Pod as its watch had it last, though it once asked for that one alone', async () => {
    const pod = (resourceVersion: string): object => ({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'web', namespace: 'default', uid: 'p', resourceVersion },
      spec: { nodeName: 'edge-1' },
    })
    const list = (resourceVersion: string, ...items: object[]): object => {
      return { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion }, items }
    }
    const [all, one] = ['/api/v1/pods?fieldSelector=spec.nodeName%3Dedge-1', '/api/v1/namespaces/default/pods/web']
    await world.told('GET', one, 200, pod('7'))
    await world.told('GET', all, 200, list('9', pod('8')))
    expect((await world.kept(one)).object).toEqual(pod('8'))
    expect((await world.kept(all.replace('/pods', '/namespaces/default/pods'))).object).toMatchObject({ items: [{}] })
  })

  it('a write without an answer makes the edge ask whether anybody would get one', async () => {
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-1'
    void world.ask('PUT', lease, () => new Promise(() => {}))
    await rest()
    await world.clock.advance(SLOW_ANSWER_MS - 1)
    expect(world.doubts).toBe(0)
    await world.clock.advance(1)
    expect(world.doubts).toBe(1)
  })
})

describe('the name of a token', () => {
  it('is told by its signature, without a question to an API server that may be away', async () => {
    const clock = new ManualClock()
    let asked = 0
    const request = (): Promise<UpstreamAnswer> => {
      asked += 1
      return new Promise(() => {})
    }
    const reviewing = { upstream: { request }, clock, signal: new AbortController().signal }
    const user = { username: 'jane', uid: '', groups: [], extra: {} }
    const known: Recognised = { kind: 'known', identity: { user, key: 'k' } }
    const readers = new Readers({
      node: 'edge-1',
      reviews: new TokenReviews(reviewing),
      access: new AccessReviews(reviewing),
      verdicts: new Verdicts(),
      recognise: () => Promise.resolve(known),
    })
    expect(await readers.nameOf('token', 'hash')).toBe('jane')
    expect(asked).toBe(0)
  })
})
