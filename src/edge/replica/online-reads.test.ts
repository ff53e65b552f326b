/** Watches on their way to a feed, while that feed may go. */
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually, rest } from '../../../test/worlds/object-server.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { readRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { MAX_READER_FEEDS } from '../feeds/feed-budget.ts'
import { Feeds } from '../feeds/feeds.ts'
import { identityOf } from '../readers/identity.ts'
import type { Readers } from '../readers/readers.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { USUAL_FEED_POLICY as policy } from './feed-policy.ts'
import { OnlineReads } from './online-reads.ts'
import { PassingAnswers } from './passing-answers.ts'
import { type Reading, readingOf } from './reading.ts'

const pod = identityOf({ username: 'system:serviceaccount:default:pod', uid: 'u', groups: [], extra: {} })
const configMaps = '/api/v1/namespaces/default/configmaps'

describe('watches on their way to a feed', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let feeds: Feeds
  let online: OnlineReads
  let learnt: number[]
  let isOfNode: () => Promise<boolean>

  beforeEach(() => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    const logger = pino({ level: 'silent' })
    feeds = new Feeds({ upstream, clock, random: () => 0, logger })
    feeds.setReachable(true)
    isOfNode = async () => false
    learnt = []
    const readers = {
      accountOf: () => 'reader',
      known: () => pod,
      admit: async () => pod,
      learn: async (_reader: unknown, _access: unknown, status: number) => void learnt.push(status),
      isOfNode: () => isOfNode(),
      review: async () => 'allowed',
    } as unknown as Readers
    const passing = new PassingAnswers(feeds, clock, logger)
    online = new OnlineReads({ feeds, readers, policy, clock, random: () => 0.5, passing })
  })

  function watch(query: string, up?: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    return read(`${configMaps}?watch=true${query}`, up)
  }

  function read(target: string, up?: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    const { info, query: parsed } = readRequest({ method: 'GET', path: target })
    const accept = ['accept', 'application/json'] as const
    const head = { method: 'GET', info, query: parsed, headers: new RequestHeaders([[...accept]]) }
    const { signal } = new AbortController()
    const ask = () =>
      upstream.request({ pool: 'token', method: 'GET', target, headers: [accept], body: undefined, signal })
    const reader = { kind: 'token', pool: 'token', token: 't', tokenHash: 'h' } as const
    return online.answer(readingOf(head) as Reading, {
      ...head,
      ...{ reader, signal, up: up ?? ask, readBody: async () => Buffer.alloc(0) },
    })
  }

  it('are readers of one that is counted, however long it takes to know who they are', async () => {
    upstream.put('tide', 'high')
    let tell = (): void => {}
    isOfNode = () => new Promise((resolve) => (tell = () => resolve(false)))
    const answering = watch('&resourceVersion=0')
    await rest()
    // As many of the same reader as it may have: the oldest that nobody reads goes.
    for (let count = 0; count <= MAX_READER_FEEDS; count++) {
      const { info } = readRequest({ method: 'GET', path: `${configMaps}?labelSelector=a%3D${count}` })
      const reading = { method: 'GET', info, query: readRequest({ method: 'GET', path: configMaps }).query }
      feeds.ensure((readingOf({ ...reading, headers: new RequestHeaders([]) }) as Reading).scope, 'reader')
    }
    tell()
    await answering
    expect([...feeds.all].filter(({ members }) => members > 0)).toHaveLength(1)
  })

  it('lose nothing by what another server says of their token', async () => {
    const refused = async (): Promise<UpstreamAnswer> => {
      return { status: 401, headers: [], body: new BytesSource(Buffer.alloc(0)), trailers: () => [] }
    }
    await read('/apis/agg.io/v1/widgets', refused)
    expect(learnt).toEqual([])
    await read(configMaps, refused)
    expect(learnt).toEqual([401])
  })

  it('go up by themselves where something cannot be read here, and miss nothing', async () => {
    upstream.put('tide', 'high')
    const first = await watch('&resourceVersion=0')
    const ended = new Promise<void>((resolve) => {
      first.body.read({ data: () => {}, end: resolve, broken: () => {} })
    })
    const version = upstream.revision
    upstream.sayNonsense()
    await ended
    const [feed] = feeds.all
    expect([feed?.isUnreadable, feed?.state]).toEqual([true, 'failing'])
    upstream.put('ebb', 'low')
    const told: string[] = []
    const { body } = await watch(`&resourceVersion=${version}`)
    body.read({ data: (piece) => told.push(piece.toString('utf8')), end: () => {}, broken: () => {} })
    upstream.put('flow', 'high')
    await eventually(() => told.join('').includes('flow'))
    expect(told.join('').match(/"name":"\w+"/g)).toEqual(['"name":"ebb"', '"name":"flow"'])
  })

  it('are not handed to a feed that was given up meanwhile', async () => {
    upstream.put('tide', 'high')
    let goUp = (): void => {}
    const wentUp = new Promise<void>((resolve) => (goUp = resolve))
    const first = await watch('&resourceVersion=0')
    first.body.read({ data: () => {}, end: () => {}, broken: () => {} })
    const version = upstream.revision
    const relayed = watch('&resourceVersion=1', async () => {
      await wentUp
      return await upstream.request({
        ...{ pool: 'token', method: 'GET', target: `${configMaps}?watch=true&resourceVersion=${version}` },
        ...{ headers: [['accept', 'application/json']], body: undefined, signal: new AbortController().signal },
      })
    })
    await rest()
    feeds.abandon(new Error('this node was forgotten'))
    goUp()
    const told: string[] = []
    const { body, isRetold } = await relayed
    body.read({ data: (piece) => told.push(piece.toString('utf8')), end: () => {}, broken: () => {} })
    upstream.put('ebb', 'low')
    upstream.put('flow', 'high')
    await eventually(() => told.join('').includes('flow'))
    expect([isRetold?.(), feeds.size]).toEqual([false, 0])
  })
})
