import { describe, expect, it } from 'vitest'
import { WireError } from '../../protobuf/wire-error.ts'
import { BodyDecodeError } from '../client/body-codec.ts'
import { TransportError } from '../client/transport-error.ts'
import type { KubeObject, WatchEvent, WatchEventType } from '../objects.ts'
import { ApiError } from '../status/status.ts'
import { WatchFrameError } from '../watch/frames.ts'
import { MAX_STREAM_FAILURES, MIN_WATCH_LIFE_MS, ReflectorCore } from './core.ts'
import type { Action, Input, Step } from './protocol.ts'

const poison = new WireError('truncated', 'Lease at byte 7: the bytes end inside a value')
const broken = new TransportError('reset', 'connection reset')
const refusal = (code: number): ApiError => new ApiError({ code, message: 'no' })
const expired = new ApiError({ code: 410, reason: 'Expired', message: 'too old' })

function object(name: string, version: number | string, uid = `uid-${name}`): KubeObject {
  return { metadata: { name, uid, resourceVersion: String(version) } }
}

function event(type: WatchEventType, of: KubeObject): Input<KubeObject> {
  return { type: 'event', event: { type, object: of } }
}

function bookmark(version: number, end = false): Input<KubeObject> {
  const annotations = end ? { 'k8s.io/initial-events-end': 'true' } : {}
  return event('BOOKMARK', { metadata: { resourceVersion: String(version), annotations } })
}

function page(items: KubeObject[], version: number, token?: string): Input<KubeObject> {
  return {
    type: 'page',
    list: { metadata: { resourceVersion: String(version), ...(token ? { continue: token } : {}) }, items },
  }
}

function failed(error: unknown): Input<KubeObject> {
  return { type: 'failed', error }
}

/** A core with a hand-held clock; `random` is 0.5 unless told. */
class Bench {
  readonly core: ReflectorCore<KubeObject>
  nowMs = 0
  last: Step<KubeObject>

  constructor(options: ConstructorParameters<typeof ReflectorCore<KubeObject>>[0] = {}) {
    this.core = new ReflectorCore({ random: () => 0.5, ...options })
    this.last = this.core.start()
  }

  feed(...inputs: Input<KubeObject>[]): Step<KubeObject> {
    for (const input of inputs) this.last = this.core.handle(input, this.nowMs)
    return this.last
  }

  get next(): Action {
    return this.last.next
  }

  /** What comes after the wait that every failure leads to. */
  afterWait(): Action {
    expect(this.next.do).toBe('wait')
    return this.feed({ type: 'waited' }).next
  }
}

function synced(...objects: KubeObject[]): Bench {
  const bench = new Bench()
  bench.feed(...objects.map((each) => event('ADDED', each)), bookmark(100, true))
  return bench
}

const streaming = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true }

describe('a streamed snapshot', () => {
  it('is asked for first, with the selection and without a version', () => {
    const { next } = new Bench({ selection: { labelSelector: 'app=x' } })
    expect(next).toEqual({ do: 'watch', query: { ...streaming, labelSelector: 'app=x', timeoutSeconds: 450 } })
  })

  it('changes nothing until its end is announced, then everything at once', () => {
    const bench = new Bench()
    bench.feed(event('ADDED', object('a', 7)), event('ADDED', object('b', 5)), bookmark(9))
    expect(bench.core.objects.size).toBe(0)
    expect(bench.core.version).toBe('')
    const step = bench.feed(bookmark(9, true))
    expect(step).toMatchObject({ synced: true, next: { do: 'read' } })
    expect(step.changes.map(({ type, object }) => `${type} ${object.metadata?.name}`)).toEqual(['added a', 'added b'])
    expect(bench.core.version).toBe('9')
  })

  it('takes changes that come before its end, in any repetition', () => {
    const bench = new Bench()
    bench.feed(event('ADDED', object('a', 5)), event('ADDED', object('b', 6)), event('MODIFIED', object('a', 8)))
    bench.feed(event('DELETED', object('b', 9)), event('ADDED', object('a', 5)), event('ADDED', object('b', 6)))
    expect(bench.feed(bookmark(9, true)).changes).toEqual([{ type: 'added', object: object('a', 8) }])
  })

  it.each([400, 403, 404, 406, 415, 422])('gives way to a list at once when the server answers %i', (code) => {
    expect(new Bench().feed(failed(refusal(code))).next).toEqual({ do: 'list', query: { limit: 500 } })
  })

  it('gives way to a list when the server ignores the question and is silent', () => {
    const bench = new Bench()
    expect(bench.core.patienceMs).toBeGreaterThan(0)
    expect(bench.feed(event('ADDED', object('a', 5)), { type: 'silent' }).next.do).toBe('list')
    expect(bench.core.patienceMs).toBeUndefined()
  })

  it.each([401, 429, 500, 503])('is tried again after %i', (code) => {
    const bench = new Bench()
    bench.feed(failed(refusal(code)))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
  })

  it('starts from nothing after it broke, and gives way to a list when it breaks again and again', () => {
    const bench = new Bench()
    for (let count = 1; count < MAX_STREAM_FAILURES; count++) {
      bench.feed(event('ADDED', object('ghost', 5)), failed(broken))
      expect(bench.afterWait().do).toBe('watch')
    }
    bench.feed({ type: 'ended' })
    expect(bench.afterWait().do).toBe('list')
    expect(bench.feed(page([object('a', 5)], 9)).changes).toEqual([{ type: 'added', object: object('a', 5) }])
  })
})

describe('a listed snapshot', () => {
  const listing = (): Bench => {
    const bench = new Bench()
    bench.feed(failed(refusal(422)))
    return bench
  }

  it('collects pages and watches from its version', () => {
    const bench = listing()
    expect(bench.feed(page([object('a', 3)], 9, 'more')).next).toEqual({
      do: 'list',
      query: { limit: 500, continue: 'more' },
    })
    expect(bench.core.objects.size).toBe(0)
    const step = bench.feed(page([object('b', 4)], 9))
    expect(step).toMatchObject({ synced: true, next: { do: 'watch', query: { resourceVersion: '9' } } })
    expect([...bench.core.objects.keys()]).toEqual(['a', 'b'])
  })

  it('asks for the same page again after a broken connection', () => {
    const bench = listing()
    bench.feed(page([object('a', 3)], 9, 'more'), failed(broken))
    expect(bench.afterWait()).toEqual({ do: 'list', query: { limit: 500, continue: 'more' } })
    bench.feed(page([object('b', 4)], 9))
    expect([...bench.core.objects.keys()]).toEqual(['a', 'b'])
  })

  it('starts anew in one piece when its pages expire', () => {
    const bench = listing()
    bench.feed(page([object('ghost', 3)], 9, 'more'), failed(expired))
    expect(bench.afterWait()).toEqual({ do: 'list', query: {} })
    bench.feed(page([object('b', 4)], 12))
    expect([...bench.core.objects.keys()]).toEqual(['b'])
  })

  it('does not accept a list that cannot be watched', () => {
    const step = listing().feed({ type: 'page', list: { metadata: {}, items: [] } })
    expect(step.failure?.error).toMatchObject({ message: expect.stringContaining('no resourceVersion') })
  })
})

describe('a watch', () => {
  it('continues the stream of the snapshot and moves its version on', () => {
    const bench = synced(object('a', 50))
    expect(bench.feed(event('MODIFIED', object('a', 101))).changes).toEqual([
      { type: 'updated', object: object('a', 101), previous: object('a', 50) },
    ])
    bench.feed(bookmark(150), failed(broken))
    expect(bench.afterWait()).toMatchObject({ query: { resourceVersion: '150' } })
  })

  it('starts again at once after a clean end, unless it was over before it began', () => {
    const bench = synced()
    bench.nowMs = MIN_WATCH_LIFE_MS
    expect(bench.feed({ type: 'ended' }).next).toMatchObject({ do: 'watch', query: { resourceVersion: '100' } })
    expect(bench.feed({ type: 'ended' }).next.do).toBe('wait')
    bench.feed({ type: 'waited' }, page([], 100), event('ADDED', object('a', 101)))
    expect(bench.feed({ type: 'ended' }).next).toMatchObject({ do: 'watch', query: { resourceVersion: '101' } })
  })

  it.each([
    ['forgotten history', expired],
    [
      'a version ahead of the server',
      new ApiError({ code: 504, reason: 'Timeout', message: 'Too large resource version' }),
    ],
    ['a plain refusal', refusal(400)],
  ])('is replaced by a new snapshot after %s, and tells the differences', (_what, error) => {
    const bench = synced(object('same', 50), object('changed', 51), object('gone', 52), object('again', 53))
    bench.feed(failed(error))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
    const again = object('again', 203, 'other')
    bench.feed(event('ADDED', object('same', 50)), event('ADDED', object('changed', 201)))
    expect(bench.feed(event('ADDED', again), bookmark(205, true)).changes).toEqual([
      { type: 'deleted', object: object('gone', 52), stale: true },
      { type: 'updated', object: object('changed', 201), previous: object('changed', 51) },
      { type: 'deleted', object: object('again', 53), stale: true },
      { type: 'added', object: again },
    ])
  })

  it('waits as long as the server asks', () => {
    const busy = new ApiError({ code: 429, message: 'busy', details: { retryAfterSeconds: 7 } })
    expect(synced().feed(failed(busy)).next).toEqual({ do: 'wait', delayMs: 7_000 })
  })

  it('believes a deletion under the last version of the object', () => {
    const bench = synced(object('a', 50))
    expect(bench.feed(event('DELETED', object('a', 50))).changes).toHaveLength(1)
    expect(bench.core.version).toBe('100')
  })

  it('ignores an old deletion of an object that has come back since', () => {
    const bench = synced(object('a', 50))
    const left = event('DELETED', object('a', 101))
    bench.feed(left, event('ADDED', object('a', 102)))
    expect(bench.feed(left).changes).toEqual([])
    expect(bench.core.objects.size).toBe(1)
  })

  it('ignores the deletion of an earlier object of the same name', () => {
    const bench = synced(object('a', 50, 'new'))
    expect(bench.feed(event('DELETED', object('a', 101, 'old'))).changes).toEqual([])
  })

  it('counts an event that it cannot use as unreadable', () => {
    const bench = synced()
    bench.feed(event('ADDED', object('a', 101)), event('ADDED', { metadata: { name: 'b' } }))
    expect(bench.last.failure).toMatchObject({
      kind: 'unreadable',
      error: { message: 'ADDED event: the object has no resourceVersion' },
    })
  })

  it('understands an ERROR event that reaches it undigested', () => {
    const bench = synced()
    const error: WatchEvent = { type: 'ERROR', object: { ...expired.status } }
    bench.feed({ type: 'event', event: error })
    expect(bench.last.failure?.kind).toBe('gone')
  })

  it('compares versions only where it may', () => {
    const bench = new Bench({ comparableVersions: false })
    bench.feed(bookmark(100, true))
    expect(bench.feed(event('ADDED', object('a', 7))).changes).toHaveLength(1)
    expect(bench.feed(event('MODIFIED', object('a', 7))).changes).toEqual([])
    expect(bench.core.version).toBe('7')
  })
})

describe('a collection that cannot be read', () => {
  it.each([
    ['an object that cannot be decoded', poison],
    ['an answer that is no list', new BodyDecodeError('expected a list, got Pod')],
    ['an event that is too large', new WatchFrameError('too-large', 'too large')],
    ['a list that is too large', new TransportError('too-large', 'too large')],
  ])('is told from a bad link, and left alone for longer: %s', (_what, error) => {
    const step = synced().feed(failed(error))
    expect(step.failure?.kind).toBe('unreadable')
    expect(step.next).toEqual({ do: 'wait', delayMs: 45_000 })
    expect(synced().feed(failed(broken)).next).toEqual({ do: 'wait', delayMs: 500 })
    const truncated = new WatchFrameError('truncated', 'cut')
    expect(synced().feed(failed(truncated)).failure?.kind).toBe('transient')
  })

  it('is followed again by a new snapshot, since the history keeps what the collection has lost', () => {
    const bench = synced(object('a', 50))
    bench.feed(failed(poison))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
    bench.feed(event('ADDED', object('a', 50)))
    expect(bench.feed(bookmark(120, true))).toMatchObject({ synced: true, changes: [] })
  })

  it('is not asked for the same page again', () => {
    const bench = new Bench()
    bench.feed(failed(refusal(400)), page([object('a', 3)], 9, 'more'), failed(poison))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
  })

  it('is read anew when the probe meets it', () => {
    const bench = synced()
    bench.feed(failed(broken))
    bench.afterWait()
    bench.feed(failed(poison))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
  })
})

describe('a probe', () => {
  const probe = { do: 'list', query: { resourceVersion: '100', resourceVersionMatch: 'NotOlderThan', limit: 1 } }

  /** Synced, then cut off. */
  const probing = (): Bench => {
    const bench = synced(object('a', 50))
    bench.feed(failed(broken))
    expect(bench.afterWait()).toEqual(probe)
    return bench
  }

  it('asks after a break whether the server knows our version, and then the watch goes on', () => {
    const step = probing().feed(page([object('other', 60)], 120, 'more'))
    expect(step).toEqual({
      changes: [],
      next: { do: 'watch', query: expect.objectContaining({ resourceVersion: '100' }) },
    })
  })

  it('leads to a new snapshot when the server is behind us', () => {
    const bench = probing()
    bench.feed(failed(new ApiError({ code: 504, reason: 'Timeout', message: 'Too large resource version' })))
    expect(bench.afterWait()).toMatchObject({ do: 'watch', query: streaming })
  })

  it('is repeated until the server answers', () => {
    const bench = probing()
    bench.feed(failed(broken))
    expect(bench.afterWait()).toEqual(probe)
    bench.feed(failed(refusal(503)))
    expect(bench.afterWait()).toEqual(probe)
  })

  it('is left out by a reader that may not list', () => {
    expect(probing().feed(failed(refusal(403))).next).toMatchObject({ do: 'watch', query: { resourceVersion: '100' } })
  })
})

it('goes on from a restored view without a snapshot', () => {
  const restored = { objects: [object('a', 50)], resourceVersion: '60' }
  const bench = new Bench({ restored })
  expect(bench.next).toMatchObject({ do: 'list', query: { resourceVersion: '60', limit: 1 } })
  expect(bench.feed(page([], 70)).next).toMatchObject({ do: 'watch', query: { resourceVersion: '60' } })
  expect(bench.feed(event('DELETED', object('a', 61))).changes).toEqual([
    { type: 'deleted', object: object('a', 61), stale: false },
  ])
})
