/** When a feed was last known to be what the API server has: it must never claim more than it was told. */
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually } from '../../../test/worlds/object-server.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeOf } from './collection-scope.ts'
import { Feed, RESUME_REFUSED_MS } from './feed.ts'

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest
const member = { sponsor: { pool: 'token', authorization: 'Bearer a' } as const, lost: () => {} }
const longAgoMs = 1_000

describe('a feed of long ago', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let feed: Feed

  beforeEach(() => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    const restored = { objects: [], resourceVersion: String(upstream.revision), currentAtMs: longAgoMs }
    const logger = pino({ level: 'silent' })
    feed = new Feed({ scope: scopeOf(info), upstream, restored, clock, random: () => 0.5, logger })
  })

  it('is not current by a watch that is refused as too old, though somebody came for a look', async () => {
    upstream.put('one', '1')
    upstream.compact()
    const states: string[] = []
    const leave = feed.join(member)
    feed.listen(() => {
      states.push(feed.state)
      if (feed.state === 'following') leave()
    })
    await eventually(() => feed.state === 'resting')
    expect(states).toContain('following')
    expect(feed.objects.size).toBe(0)
    expect(feed.currentAtMs).toBe(longAgoMs)
  })

  it('is current from the first news on, or when none has come for a while', async () => {
    feed.join(member)
    await eventually(() => feed.state === 'following')
    expect(feed.currentAtMs).toBe(longAgoMs)
    await clock.advance(RESUME_REFUSED_MS)
    expect(feed.currentAtMs).toBe(clock.nowMs())
    upstream.cut()
    feed.setReachable(false)
    const cutAtMs = clock.nowMs()
    await clock.advance(60_000)
    expect(feed.currentAtMs).toBe(cutAtMs)
  })

  it('is current by an event', async () => {
    feed.join(member)
    await eventually(() => feed.state === 'following')
    upstream.put('one', '1')
    await eventually(() => feed.objects.size === 1)
    expect(feed.currentAtMs).toBe(clock.nowMs())
  })
})
