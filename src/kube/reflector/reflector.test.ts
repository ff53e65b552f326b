import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { ListQuery, WatchQuery } from '../client/options.ts'
import type { KubeList, KubeObject, WatchEvent } from '../objects.ts'
import { MAX_INITIAL_SILENCE_MS } from './core.ts'
import type { FailureKind } from './failure.ts'
import { Reflector, type ReflectorSource, type WatchSource } from './reflector.ts'

function object(name: string, version: number): KubeObject {
  return { metadata: { name, namespace: 'ns', uid: name, resourceVersion: String(version) } }
}

const initialEnd: WatchEvent = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '10', annotations: { 'k8s.io/initial-events-end': 'true' } } },
}

/** Answers every watch with the next script, and stays silent at the end of one. */
class ScriptedSource implements ReflectorSource<KubeObject> {
  readonly asked: Array<ListQuery | WatchQuery> = []
  readonly scripts: WatchEvent[][]
  readCount = 0

  constructor(...scripts: WatchEvent[][]) {
    this.scripts = scripts
  }

  async list(query: ListQuery): Promise<KubeList> {
    this.asked.push(query)
    return { metadata: { resourceVersion: '20' }, items: [object('listed', 15)] }
  }

  async watch(query: WatchQuery, { signal }: { signal?: AbortSignal }): Promise<WatchSource<KubeObject>> {
    this.asked.push(query)
    const script = this.scripts.shift() ?? []
    const stop = new AbortController()
    const close = (): void => stop.abort(new Error('closed'))
    signal?.addEventListener('abort', close)
    const count = (): number => this.readCount++
    return {
      close,
      async *[Symbol.asyncIterator]() {
        for (const event of script) {
          count()
          yield event
        }
        await once(stop.signal, 'abort')
        stop.signal.throwIfAborted()
      },
    }
  }
}

describe('reflector', () => {
  it('tells a listener what happened and keeps the view', async () => {
    const source = new ScriptedSource([
      { type: 'ADDED', object: object('a', 5) },
      initialEnd,
      { type: 'MODIFIED', object: object('a', 11) },
      { type: 'ADDED', object: object('b', 12) },
      { type: 'DELETED', object: object('a', 13) },
    ])
    const clock = new ManualClock()
    const reflector = new Reflector(source, { clock })
    const told: string[] = []
    const stop = new AbortController()
    const running = reflector.run(
      {
        added: (added) => told.push(`added ${added.metadata?.name}`),
        updated: (now, before) =>
          told.push(`updated ${before.metadata?.resourceVersion} ${now.metadata?.resourceVersion}`),
        deleted: (gone, stale) => told.push(`deleted ${gone.metadata?.name} ${stale}`),
        synced: () => told.push('synced'),
      },
      stop.signal,
    )
    await clock.advance(0)
    expect(told).toEqual(['added a', 'synced', 'updated 5 11', 'added b', 'deleted a false'])
    expect([...reflector.objects.keys()]).toEqual(['ns/b'])
    expect(reflector.resourceVersion).toBe('13')
    stop.abort()
    await running
    expect(clock.pending).toBe(0)
  })

  it('reads no further than its consumer', async () => {
    const events = ['a', 'b', 'c'].map((name): WatchEvent => ({ type: 'ADDED', object: object(name, 11) }))
    const source = new ScriptedSource([initialEnd, ...events])
    const reflector = new Reflector(source, { comparableVersions: false })
    for await (const notification of reflector.notifications(new AbortController().signal)) {
      if (notification.type === 'added') break
    }
    expect(source.readCount).toBe(2)
  })

  it('goes on where it was left, and loses nothing in between', async () => {
    const source = new ScriptedSource(
      [{ type: 'ADDED', object: object('a', 5) }, initialEnd],
      [{ type: 'ADDED', object: object('b', 11) }],
    )
    const reflector = new Reflector(source)
    const { signal } = new AbortController()
    for await (const notification of reflector.notifications(signal)) if (notification.type === 'synced') break
    for await (const notification of reflector.notifications(signal)) {
      expect(notification).toMatchObject({ type: 'added', object: object('b', 11) })
      break
    }
    expect(source.asked.slice(1)).toMatchObject([
      { resourceVersion: '10', limit: 1 },
      { resourceVersion: '10', allowWatchBookmarks: true },
    ])
  })

  it('turns to the list when the initial events never end', async () => {
    const clock = new ManualClock()
    const source = new ScriptedSource([{ type: 'ADDED', object: object('a', 5) }])
    const reflector = new Reflector(source, { clock })
    const stop = new AbortController()
    const failures: unknown[] = []
    const running = reflector.run({ failed: (error) => failures.push(error) }, stop.signal)
    await clock.advance(MAX_INITIAL_SILENCE_MS - 1)
    expect(reflector.synced).toBe(false)
    await clock.advance(1)
    expect(reflector.synced).toBe(true)
    expect([...reflector.objects.keys()]).toEqual(['ns/listed'])
    expect(failures).toHaveLength(1)
    stop.abort()
    await running
  })

  it('tells a collection that it cannot read from a bad link', async () => {
    const clock = new ManualClock()
    const source = new ScriptedSource([initialEnd, { type: 'ADDED', object: { metadata: { name: 'a' } } }])
    const stop = new AbortController()
    const told: unknown[] = []
    const listener = {
      failed: (_error: unknown, retryInMs: number, kind: FailureKind) => told.push([kind, retryInMs]),
    }
    const running = new Reflector(source, { clock, random: () => 0 }).run(listener, stop.signal)
    await clock.advance(0)
    expect(told).toEqual([['unreadable', 30_000]])
    stop.abort()
    await running
  })

  it('runs once at a time', async () => {
    const stop = new AbortController()
    const reflector = new Reflector(new ScriptedSource([initialEnd]))
    const running = reflector.run({}, stop.signal)
    await expect(reflector.run({}, stop.signal)).rejects.toThrow('running already')
    stop.abort()
    await running
  })
})
