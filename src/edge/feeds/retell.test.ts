/** Objects that are told again though nothing has happened to them, and which feed knows best about one object. */
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { eventually, rest } from '../../../test/worlds/object-server.ts'
import { DOCUMENT_FORMATS } from '../../kube/document-format.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeFrom, scopeOf } from './collection-scope.ts'
import { Feed } from './feed.ts'
import { cursorAfter, cursorAtEnd, type FeedCursor } from './feed-cursor.ts'
import { FeedWatchBody } from './feed-watch-body.ts'
import { Feeds } from './feeds.ts'
import { KeptObject } from './kept-object.ts'
import type { Selection } from './selection.ts'

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest
const type = { apiVersion: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' }
const logger = pino({ level: 'silent' })
const format = DOCUMENT_FORMATS.json
const { walker } = format

describe('a watch from a feed', () => {
  let upstream: CollectionUpstream
  let clock: ManualClock
  let feed: Feed

  beforeEach(async () => {
    upstream = new CollectionUpstream()
    clock = new ManualClock()
    feed = new Feed({ scope: scopeOf(info), upstream, clock, random: () => 0.5, logger })
    upstream.put('one', '1')
    upstream.put('two', '2')
    feed.join({ sponsor: { pool: 'token', authorization: 'Bearer a' }, lost: () => {} })
    await eventually(() => feed.state === 'following')
  })

  /** What the watch tells, from where it begins. */
  function told(cursor: FeedCursor | undefined, selection: Selection = () => true) {
    const events: string[] = []
    const output = {
      type,
      representation: { as: 'Object', encoding: 'json' } as const,
      pretty: false,
      nowMs: 0,
    }
    const options = { feed, cursor, selection, output, allowBookmarks: false, timeoutMs: 1_000_000, clock }
    const body = new FeedWatchBody({ ...options, over: () => {} })
    const decoder = format.frames()
    const read = (): void =>
      body.read({
        data: (piece) => {
          for (const frame of decoder.push(piece)) {
            const event = walker.readEvent(frame)
            const { name, resourceVersion } = walker.identityOf(event.object)
            events.push(event.type === 'ERROR' ? 'ERROR' : `${event.type} ${name} ${resourceVersion}`)
          }
        },
        end: () => events.push('end'),
        broken: (fault) => events.push(fault.message),
      })
    return { events, body, read }
  }

  it('tells objects again as they are, once for all times they were meant', async () => {
    const { events, read } = told(cursorAtEnd(feed))
    feed.retell(({ metadata }) => metadata.name === 'one')
    feed.retell(() => true)
    read()
    await rest()
    expect(events).toEqual(['MODIFIED one 101', 'MODIFIED two 102'])
    upstream.put('two', '3')
    await eventually(() => events.length === 3)
    expect(events.at(-1)).toBe('MODIFIED two 103')
  })

  it('does so after all that has changed, and not for what is gone or was not asked for', async () => {
    const { events, read } = told(cursorAtEnd(feed), ({ metadata }) => metadata.name !== 'three')
    feed.retell(() => true)
    upstream.put('three', '3')
    upstream.delete('two')
    await eventually(() => feed.version === '104')
    feed.retell(() => true)
    read()
    await rest()
    expect(events).toEqual(['DELETED two 104', 'MODIFIED one 101'])
  })

  it('lets a reader begin anew that has seen more than the feed has', async () => {
    const { events, read } = told(cursorAfter(feed, '999'))
    read()
    feed.retell(({ metadata }) => metadata.name === 'none')
    await rest()
    expect(events).toEqual([])
    feed.retell(() => true)
    await rest()
    expect(events).toEqual(['ERROR', 'end'])
  })

  it('hears of nothing when it is over', async () => {
    const { events, body, read } = told(cursorAtEnd(feed))
    read()
    body.cancel()
    feed.retell(() => true)
    await rest()
    expect(events).toEqual([])
  })
})

describe('the feed that knows about an object', () => {
  const feeds = (): Feeds =>
    new Feeds({ upstream: new CollectionUpstream(), clock: new ManualClock(), random: () => 0.5, logger })
  const scope = (namespace: string, labelSelector: string, fieldSelector: string, owner = '') =>
    scopeFrom({
      apiGroup: '',
      apiVersion: 'v1',
      resource: 'configmaps',
      namespace,
      labelSelector,
      fieldSelector,
      owner,
    })
  const wanted = scope('default', '', 'metadata.name=one')

  function object(resourceVersion: string): KeptObject {
    const metadata = { name: 'one', namespace: 'default', uid: 'u', resourceVersion }
    return new KeptObject('json', Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata })))
  }

  it('is the most recent, also one that has only a part of the collection', () => {
    const all = feeds()
    const add = (of: typeof wanted, resourceVersion: string, objects: KeptObject[]) =>
      all.restore(of, { objects, resourceVersion, currentAtMs: 0 }, type)
    expect(all.covering(wanted, 'default/one')).toBeUndefined()
    add(scope('', 'a=b', ''), '300', [])
    add(scope('', '', '', 'somebody'), '300', [object('300')])
    expect(all.covering(wanted, 'default/one')).toBeUndefined()
    add(wanted, '100', [object('100')])
    expect(all.covering(wanted, 'default/one')?.version).toBe('100')
    add(scope('', 'c=d', ''), '120', [object('110')])
    expect(all.covering(wanted, 'default/one')?.objects.get('default/one')?.version).toBe('110')
    // One that has all of it and not this knows that it is gone.
    add(scope('default', '', ''), '200', [])
    expect(all.covering(wanted, 'default/one')?.version).toBe('200')
  })
})
