import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually } from '../../../test/worlds/object-server.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeOf } from './collection-scope.ts'
import { Feed } from './feed.ts'
import { cursorAfter, cursorAtEnd } from './feed-cursor.ts'
import { FEED_BOOKMARK_MS, FeedWatchBody, type FeedWatchOptions } from './feed-watch-body.ts'

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest
const type = { apiVersion: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' }
const representation = { as: 'Object', encoding: 'json' } as const

interface Frame {
  readonly type: string
  readonly object: { readonly code?: number; readonly metadata: Record<string, unknown> }
}

describe('a watch that is made from a feed', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let feed: Feed

  beforeEach(async () => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    feed = new Feed({ scope: scopeOf(info), upstream, clock, random: () => 0.5, logger: pino({ level: 'silent' }) })
    upstream.put('a', '1')
    feed.join({ sponsor: { pool: 'node', authorization: undefined }, lost: () => {} })
    await eventually(() => feed.state === 'following')
  })

  const isCaughtUp = (): boolean => feed.version === String(upstream.revision)

  function watch(changes: Partial<FeedWatchOptions> = {}) {
    const heard: string[] = []
    let overs = 0
    const body = new FeedWatchBody({
      feed,
      cursor: cursorAtEnd(feed),
      selection: () => true,
      output: { type, representation, pretty: false, nowMs: 0 },
      allowBookmarks: true,
      timeoutMs: 3_600_000,
      clock,
      over: () => {
        overs += 1
      },
      ...changes,
    })
    body.read({
      data: (piece) => {
        const { type: kind, object } = JSON.parse(piece.toString('utf8')) as Frame
        const { name = '', resourceVersion = '', annotations } = object.metadata
        const end = annotations === undefined ? '' : ' end of initial events'
        heard.push(
          kind === 'ERROR' ? `ERROR ${object.code}` : `${kind} ${String(name)} ${String(resourceVersion)}${end}`,
        )
      },
      end: () => heard.push('end'),
      broken: ({ message }) => heard.push(`broken: ${message}`),
    })
    return { heard, body, overs: () => overs }
  }

  it('tells what there is, where that ends, and what changes', async () => {
    const { heard } = watch({ initial: [...feed.objects.values()], endsInitialEvents: true })
    upstream.put('b', '2')
    upstream.delete('a')
    await eventually(isCaughtUp)
    expect(heard).toEqual(['ADDED a 101', 'BOOKMARK  101 end of initial events', 'ADDED b 102', 'DELETED a 103'])
  })

  it('gives bookmarks now and then, where there is news and they are wanted', async () => {
    const wanted = watch()
    const unwanted = watch({ allowBookmarks: false })
    await clock.advance(FEED_BOOKMARK_MS)
    upstream.touchElsewhere()
    upstream.bookmark()
    await eventually(isCaughtUp)
    await clock.advance(2 * FEED_BOOKMARK_MS)
    expect(wanted.heard).toEqual(['BOOKMARK  101', 'BOOKMARK  102'])
    expect(unwanted.heard).toEqual([])
  })

  it('ends when its time is up, in good order', async () => {
    const { heard, overs } = watch({ timeoutMs: 5_000 })
    await clock.advance(4_999)
    expect(heard).toEqual([])
    await clock.advance(1)
    expect(heard).toEqual(['end'])
    expect(overs()).toBe(1)
  })

  it('waits for a slow reader, and misses nothing for it', async () => {
    const { heard, body } = watch()
    body.pause()
    upstream.put('b', '2')
    upstream.put('b', '3')
    await eventually(isCaughtUp)
    expect(heard).toEqual([])
    body.resume()
    expect(heard).toEqual(['ADDED b 102', 'MODIFIED b 103'])
  })

  it('tells one that is too old so, in the stream', () => {
    const { heard, overs } = watch({ cursor: cursorAfter(feed, '50') })
    expect(heard).toEqual(['ERROR 410', 'end'])
    expect(overs()).toBe(1)
  })

  it('tells whoever reads on when the API server was set back', async () => {
    const { heard } = watch()
    upstream.setBack(90, [])
    for (let wait = 0; wait < 10 && heard.length === 0; wait++) await clock.advance(1_000)
    expect(heard).toEqual(['ERROR 410', 'end'])
  })

  it('gives a bookmark at once to whoever was led from one list to the next', async () => {
    const { heard } = watch()
    upstream.cut()
    feed.setReachable(false)
    upstream.put('b', '2')
    upstream.touchElsewhere()
    upstream.compact()
    upstream.isUp = true
    feed.setReachable(true)
    for (let wait = 0; wait < 10 && !isCaughtUp(); wait++) await clock.advance(1_000)
    expect(heard).toEqual(['ADDED b 102', 'BOOKMARK  103'])
  })

  it('leaves nothing behind when nobody reads it any more', async () => {
    const before = clock.pending
    const { heard, body, overs } = watch()
    body.cancel()
    body.cancel()
    upstream.put('b', '2')
    await eventually(isCaughtUp)
    expect(heard).toEqual([])
    expect(overs()).toBe(1)
    expect(clock.pending).toBe(before)
  })
})
