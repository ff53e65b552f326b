import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually } from '../../../test/worlds/object-server.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { type CollectionScope, scopeOf } from './collection-scope.ts'
import { MAX_READER_FEEDS } from './feed-budget.ts'
import { Feeds, TOO_LARGE_MS } from './feeds.ts'

const sponsor = { pool: 'token', authorization: 'Bearer a' } as const

function scope(query = ''): CollectionScope {
  const path = `/api/v1/namespaces/default/configmaps${query}`
  return scopeOf(parseRequestInfo({ method: 'GET', path }) as ResourceRequest)
}

function world(limits: { maxBytes?: number; maxReaderBytes?: number } = {}) {
  const upstream = new CollectionUpstream()
  const clock = new ManualClock()
  const feeds = new Feeds({ upstream, clock, random: () => 0, logger: pino({ level: 'silent' }), ...limits })
  feeds.setReachable(true)
  return { upstream, clock, feeds }
}

describe('all feeds of an edge', () => {
  it('has one for each scope, however it is worded', () => {
    const { feeds } = world()
    const feed = feeds.ensure(scope('?labelSelector=a%3D1,b%3D2'), 'reader')
    expect(feeds.ensure(scope('?labelSelector=b%3D2,a%3D1'), 'other')).toBe(feed)
    expect(feeds.ensure(scope(), 'reader')).not.toBe(feed)
    expect(feeds.size).toBe(2)
  })

  it('lets one reader have so many and no more, and drops its own oldest for it', () => {
    const { feeds } = world()
    const others = feeds.ensure(scope(), 'other')
    for (let count = 0; count <= MAX_READER_FEEDS; count++) feeds.ensure(scope(`?labelSelector=a%3D${count}`), 'greedy')
    expect(feeds.size).toBe(MAX_READER_FEEDS + 1)
    expect(feeds.find(scope())).toBe(others)
    expect(feeds.find(scope('?labelSelector=a%3D0'))).toBeUndefined()
  })

  it('lets go of a collection that is too large for its reader, ends its watches, and does not try again for a while', async () => {
    const { upstream, clock, feeds } = world({ maxReaderBytes: 2_000 })
    upstream.put('large', 'x'.repeat(4_000))
    let losses = 0
    feeds.ensure(scope(), 'reader')?.join({ sponsor, lost: () => (losses += 1) })
    await eventually(() => losses === 1)
    expect([feeds.size, feeds.bytes]).toEqual([0, 0])
    expect(feeds.ensure(scope(), 'reader')).toBeUndefined()
    await clock.advance(TOO_LARGE_MS)
    expect(feeds.ensure(scope(), 'reader')).toBeDefined()
  })

  it('drops what nobody reads before what somebody reads, and what the node needs last', async () => {
    const { upstream, feeds } = world({ maxBytes: 9_000 })
    upstream.put('some', 'x'.repeat(3_000))
    const states: Record<string, () => string | undefined> = {}
    for (const [name, query] of Object.entries({ node: '?labelSelector=a', old: '?labelSelector=b', read: '' })) {
      const feed = feeds.ensure(scope(query), name === 'node' ? '' : name)
      if (name === 'node') feed?.claimForNode()
      const leave = feed?.join({ sponsor, lost: () => {} })
      await eventually(() => feed?.state === 'following')
      if (name !== 'read') leave?.()
      states[name] = () => feeds.find(scope(query))?.state
    }
    upstream.put('more', 'x'.repeat(2_000))
    await eventually(() => states['old']?.() === undefined)
    expect(states['node']?.()).toBe('following')
    expect(states['read']?.()).toBe('following')
  })

  it('counts what histories have beside the objects, and has those forgotten before a collection is let go', async () => {
    const { upstream, feeds } = world({ maxReaderBytes: 100_000 })
    let losses = 0
    const feed = feeds.ensure(scope(), 'reader')
    feed?.join({ sponsor, lost: () => (losses += 1) })
    const counted: number[] = []
    for (let change = 0; change < 30; change++) {
      upstream.put('large', String(change).padEnd(10_000, 'x'))
      await eventually(() => feed?.version === String(upstream.revision))
      counted.push(feeds.bytes)
    }
    // Nine states of it have room, the present one included; what is counted is what is there.
    expect(Math.max(...counted)).toBeGreaterThan(90_000)
    expect(Math.max(...counted)).toBeLessThanOrEqual(100_000)
    expect(feeds.bytes).toBe(feed?.heldBytes)
    expect([losses, feed?.state, feed?.objects.size]).toEqual([0, 'following', 1])
  })

  it('counts what they are asked for by, which stays in memory with them', () => {
    const { feeds } = world()
    const long = 'x'.repeat(60)
    feeds.ensure(scope(`?labelSelector=${long}`), 'reader')
    expect(feeds.bytes).toBeGreaterThan(6 * long.length)
  })

  it('remember nothing of resources that have no feed any more: callers choose their names', () => {
    const { feeds } = world()
    for (let count = 0; count < 2 * MAX_READER_FEEDS; count++) {
      const path = `/apis/example.com/v1/things${count}`
      feeds.ensure(scopeOf(parseRequestInfo({ method: 'GET', path }) as ResourceRequest), 'reader')
    }
    expect([feeds.size, feeds.resources]).toEqual([MAX_READER_FEEDS, MAX_READER_FEEDS])
    feeds.abandon(new Error('gone'))
    expect([feeds.size, feeds.resources]).toEqual([0, 0])
  })
})
