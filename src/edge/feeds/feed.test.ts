import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually, rest } from '../../../test/worlds/object-server.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { BACKOFF_FIRST_MS } from '../../runtime/backoff.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeOf } from './collection-scope.ts'
import { FEED_LINGER_MS, Feed, type Member } from './feed.ts'
import { cursorAfter, cursorAtEnd, type FeedCursor } from './feed-cursor.ts'

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest

class Reader implements Member {
  readonly sponsor
  readonly losses: Error[] = []

  constructor(token: string) {
    this.sponsor = { pool: 'token', authorization: `Bearer ${token}` } as const
  }

  lost(error: Error): void {
    this.losses.push(error)
  }
}

describe('a feed', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let feed: Feed

  beforeEach(() => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    feed = new Feed({ scope: scopeOf(info), upstream, clock, random: () => 0.5, logger: pino({ level: 'silent' }) })
  })

  const isCaughtUp = (): boolean => feed.version === String(upstream.revision)

  const join = async (token = 'a'): Promise<{ reader: Reader; leave: () => void }> => {
    const reader = new Reader(token)
    const leave = feed.join(reader)
    await eventually(() => feed.state === 'following')
    return { reader, leave }
  }

  it('rests until somebody reads it, then has everything and follows', async () => {
    upstream.put('one', '1')
    expect(feed.state).toBe('resting')
    await join()
    expect([...feed.objects.keys()]).toEqual(['default/one'])
    expect(feed.type).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' })
    upstream.put('two', '2')
    upstream.delete('one')
    await eventually(isCaughtUp)
    expect([...feed.objects.keys()]).toEqual(['default/two'])
    expect(upstream.requests).toHaveLength(1)
  })

  it('takes nobody in after its end: nothing counts or ends those who read it then', async () => {
    feed.close()
    const [late, gone] = [new Reader('late'), new Reader('gone')]
    feed.join(late)
    feed.join(gone)()
    await clock.advance(0)
    expect([feed.members, feed.state, upstream.requests.length]).toEqual([0, 'resting', 0])
    expect(late.losses.map(({ message }) => message)).toEqual(['the feed is no more'])
    expect(gone.losses).toEqual([])
  })

  it('waits after a defect, whoever comes meanwhile', async () => {
    const moved = (): never => {
      throw new Error('a defect')
    }
    const logger = pino({ level: 'silent' })
    feed = new Feed({ scope: scopeOf(info), upstream, clock, random: () => 0.5, logger, moved })
    upstream.put('one', '1')
    const leave = feed.join(new Reader('a'))
    await eventually(() => feed.state === 'failing')
    feed.join(new Reader('b'))
    leave()
    await rest()
    const tries = upstream.requests.length
    await clock.advance(BACKOFF_FIRST_MS / 2 - 1)
    await rest()
    expect([feed.state, upstream.requests.length]).toEqual(['failing', tries])
    await clock.advance(1)
    await eventually(() => upstream.requests.length > tries)
  })

  it('gives a reader all that came after the version it has seen', async () => {
    upstream.put('one', '1')
    await join()
    const start = feed.version
    upstream.put('two', '2')
    upstream.put('one', '1b')
    upstream.delete('two')
    await eventually(isCaughtUp)
    expect(taken(cursorAfter(feed, start))).toEqual(['ADDED two 102', 'MODIFIED one 103', 'DELETED two 104'])
    expect(taken(cursorAfter(feed, '102'))).toEqual(['MODIFIED one 103', 'DELETED two 104'])
    expect(taken(cursorAtEnd(feed))).toEqual([])
    expect(cursorAfter(feed, '90')).toBeUndefined()
  })

  it('follows for all readers on the credential of one, and on that of another when that one leaves', async () => {
    const first = await join('a')
    await join('b')
    expect(upstream.sponsors).toEqual(['a'])
    first.leave()
    await eventually(() => upstream.sponsors.join() === 'b')
    upstream.put('one', '1')
    await eventually(isCaughtUp)
    expect(feed.history.epoch).toBe(1)
  })

  it('goes on for a while without readers, then rests with what it has', async () => {
    upstream.put('one', '1')
    const { leave } = await join()
    leave()
    expect(feed.state).toBe('following')
    await clock.advance(FEED_LINGER_MS)
    await eventually(() => upstream.openWatches === 0)
    expect(feed.state).toBe('resting')
    expect(feed.objects.size).toBe(1)
  })

  it('tells after a cut exactly what was missed, to whoever reads on', async () => {
    upstream.put('one', '1')
    await join()
    const cursor = cursorAtEnd(feed)
    upstream.cut()
    feed.setReachable(false)
    expect(feed.state).toBe('failing')
    upstream.put('two', '2')
    upstream.delete('one')
    upstream.isUp = true
    feed.setReachable(true)
    await clock.advance(0)
    await eventually(isCaughtUp)
    expect(taken(cursor)).toEqual(['ADDED two 102', 'DELETED one 103'])
  })

  it('tells the differences where the history was compacted meanwhile, and never an older version after a newer', async () => {
    for (const name of ['one', 'two', 'three']) upstream.put(name, '1')
    await join()
    const cursor = cursorAtEnd(feed)
    upstream.cut()
    feed.setReachable(false)
    upstream.put('four', '4')
    upstream.delete('two')
    upstream.put('one', '1b')
    upstream.compact()
    upstream.isUp = true
    feed.setReachable(true)
    for (let wait = 0; wait < 10; wait++) {
      await clock.advance(1_000)
      await rest()
    }
    await eventually(isCaughtUp)
    expect(taken(cursor)).toEqual(['DELETED two 103', 'ADDED four 104', 'MODIFIED one 106'])
    expect(feed.history.epoch).toBe(1)
  })

  it('makes every reader begin anew where the API server was set back', async () => {
    upstream.put('one', '1')
    const kept = [...upstream.objects.values()]
    upstream.put('two', '2')
    await join()
    const cursor = cursorAtEnd(feed)
    upstream.setBack(101, kept)
    for (let wait = 0; wait < 10; wait++) {
      await clock.advance(1_000)
      await rest()
    }
    await eventually(() => feed.version === '101')
    expect([...feed.objects.keys()]).toEqual(['default/one'])
    expect(cursor.next()).toBe('gone')
  })

  it('lets go of a sponsor that may not read any more, and goes on with the next', async () => {
    const first = await join('a')
    const second = await join('b')
    upstream.allowed = new Set(['b'])
    upstream.breakWatches()
    for (let wait = 0; wait < 5; wait++) {
      await clock.advance(1_000)
      await rest()
    }
    await eventually(() => upstream.sponsors.join() === 'b')
    expect(first.reader.losses).toHaveLength(1)
    expect(second.reader.losses).toEqual([])
  })

  it('takes a newer list while it rests, as differences, and none while it follows', async () => {
    upstream.put('one', '1')
    const { leave } = await join()
    const kept = { objects: [...feed.objects.values()], resourceVersion: '150' }
    expect(feed.adopt(kept)).toBe(false)
    leave()
    await clock.advance(FEED_LINGER_MS)
    await eventually(() => upstream.openWatches === 0)
    await rest()
    expect(feed.adopt({ objects: [], resourceVersion: '150' })).toBe(true)
    expect(feed.version).toBe('150')
    expect(taken(cursorAfter(feed, '101'))).toEqual(['DELETED one 101'])
    expect(feed.adopt({ ...kept, resourceVersion: '120' })).toBe(false)
    const before = feed.currentAtMs
    await clock.advance(1_000)
    expect(feed.adopt({ objects: [], resourceVersion: '150' })).toBe(false)
    expect(feed.currentAtMs).toBe(before + 1_000)
  })
})

function taken(cursor: FeedCursor | undefined): string[] {
  const events: string[] = []
  for (;;) {
    const change = cursor?.next()
    if (change === undefined || change === 'gone') return change === 'gone' ? [...events, change] : events
    events.push(`${change.type} ${change.object.metadata.name} ${change.object.version}`)
  }
}
