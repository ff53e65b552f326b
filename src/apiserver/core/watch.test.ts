import { describe, expect, it } from 'vitest'
import type { CollectionOptions } from '../../kube/collection/options.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { Item, storedValue } from '../objects/item.ts'
import { storedResource } from '../objects/resource.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import type { Change } from '../storage/store.ts'
import { Collection, MAX_RECENT_CHANGES } from './collection.ts'
import { EventFrames } from './event-frames.ts'
import { Renderer } from './renderer.ts'
import { BOOKMARK_INTERVAL_MS, Watch } from './watch.ts'
import { FULL_WATCH_QUEUE_BYTES, WatchQueue } from './watch-queue.ts'

const prefix = 'core/configmaps/'

function storedMap(name: string, text = ''): Buffer {
  const metadata = { name, namespace: 'default', uid: `uid-${name}` }
  return storedValue({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { text } })
}

function put(name: string, revision: number): Change {
  const entry = {
    key: `${prefix}default/${name}`,
    value: storedMap(name),
    createRevision: revision,
    modRevision: revision,
  }
  return { type: 'put', key: entry.key, revision, entry, previous: undefined }
}

function initialItem(name: string, text = ''): Item {
  const key = `${prefix}default/${name}`
  return Item.fromEntry({ key, value: storedMap(name, text), createRevision: 1, modRevision: 1 })
}

/** A watch of a collection, whose client reads or does not. */
function world(
  items: readonly Item[],
  given: Partial<CollectionOptions> = {},
  store = new MemoryStore(new ManualClock()),
) {
  const resource = storedResource('', 'v1', 'configmaps')
  if (resource === undefined) throw new Error('no such resource')
  const clock = new ManualClock()
  const collection = new Collection(items, 1)
  const written: string[] = []
  const state = { isReading: true, drain: (): void => {} }
  const stream = {
    write: (chunk: Buffer) => {
      written.push(...chunk.toString('utf8').trimEnd().split('\n'))
      return state.isReading
    },
    drained: () => new Promise<void>((resolve) => (state.drain = resolve)),
    end: () => written.push('end'),
  }
  const stop = new AbortController()
  const queue = new WatchQueue(stream, () => stop.abort())
  const options = {
    resourceVersion: '',
    sendInitialEvents: undefined,
    allowBookmarks: true,
    ...given,
  } as CollectionOptions
  const output = { resource, representation: { as: 'Object', encoding: 'json' }, pretty: false, nowMs: 0 } as const
  const frames = new EventFrames(new Renderer({ run: () => Promise.reject(new Error('nothing here is large')) }))
  const parts = {
    collection,
    prefix,
    selection: () => true,
    options,
    output,
    frames,
    queue,
    store,
    clock,
    random: () => 0,
    caller: '',
  }
  const done = new Watch(parts).run(stop.signal)
  const told = (): string[] =>
    written.map((line) => {
      if (line === 'end') return line
      const { type, object } = JSON.parse(line) as { type: string; object: { metadata: Record<string, string> } }
      return `${type} ${object.metadata['name'] ?? ''} ${object.metadata['resourceVersion']}`
    })
  return { collection, state, stop, done, told, clock, store }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('Watch', () => {
  it('tells what is there and then every change, in order', async () => {
    const { collection, told, stop, done } = world([initialItem('a'), initialItem('b')])
    await settle()
    collection.apply({ changes: [put('b', 2), put('c', 2)], revision: 2 })
    collection.apply({ changes: [{ ...put('a', 3), type: 'delete', entry: undefined }], revision: 3 })
    await settle()
    expect(told()).toEqual(['ADDED a 1', 'ADDED b 1', 'MODIFIED b 2', 'ADDED c 2', 'DELETED a 3'])
    stop.abort()
    await done
    expect(told().at(-1)).toBe('end')
  })

  it('misses nothing that happens while it tells what is there', async () => {
    const { collection, told } = world([initialItem('a')])
    collection.apply({ changes: [put('a', 2)], revision: 2 })
    await settle()
    collection.apply({ changes: [put('a', 3)], revision: 3 })
    await settle()
    expect(told()).toEqual(['ADDED a 2', 'MODIFIED a 3'])
  })

  it('waits for its client, and says no more than the client has been told', async () => {
    const large = Array.from({ length: 40 }, (_, index) => initialItem(`i${index}`, 'x'.repeat(60_000)))
    const { collection, told, state, clock } = world(large)
    state.isReading = false
    await settle()
    collection.apply({ changes: [put('late', 2)], revision: 2 })
    await settle()
    await clock.advance(BOOKMARK_INTERVAL_MS)
    const before = told().length
    expect(before * 60_000).toBeLessThan(2 * FULL_WATCH_QUEUE_BYTES)
    state.isReading = true
    for (let round = 0; round < 10; round++) {
      state.drain()
      await settle()
    }
    expect(told().slice(0, 41).at(-1)).toBe('ADDED late 2')
    expect(told().filter((line) => line.startsWith('BOOKMARK'))).toEqual([])
    await clock.advance(BOOKMARK_INTERVAL_MS)
    expect(told().at(-1)).toBe('BOOKMARK  2')
  })

  it('gives no bookmark that lies before where the client began', async () => {
    const { told, clock } = world([initialItem('a')], { resourceVersion: '5' })
    await settle()
    await clock.advance(BOOKMARK_INTERVAL_MS)
    expect(told()).toEqual(['BOOKMARK  5'])
  })

  it('goes on from the store when it has fallen behind the memory', async () => {
    const { collection, told, state, store } = world([initialItem('a', 'x'.repeat(60_000))])
    await settle()
    state.isReading = false
    const count = MAX_RECENT_CHANGES * 2 + 10
    for (let index = 0; index < count; index++) {
      const key = `${prefix}default/a`
      const value = storedMap('a', index < 60 ? 'y'.repeat(60_000) : '')
      const { revision } = await store.commit({ conditions: [], writes: [{ type: 'put', key, value }] })
      const entry = { key, value, createRevision: 2, modRevision: revision }
      collection.apply({ changes: [{ type: 'put', key, revision, entry, previous: undefined }], revision })
    }
    state.isReading = true
    for (let round = 0; round < 200 && told().length < count + 1; round++) {
      state.drain()
      await settle()
    }
    const revisions = told().map((line) => Number(line.split(' ')[2]))
    expect(told()[0]).toBe('ADDED a 1')
    expect(revisions).toEqual(Array.from({ length: count + 1 }, (_, index) => index + 1))
  })
})
