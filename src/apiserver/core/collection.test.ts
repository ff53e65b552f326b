import { describe, expect, it } from 'vitest'
import { Item, storedValue } from '../objects/item.ts'
import type { Change } from '../storage/store.ts'
import { Collection, type ItemChange, MAX_RECENT_CHANGES } from './collection.ts'

function item(key: string, revision: number): Item {
  return Item.fromEntry(entry(key, revision))
}

function entry(key: string, revision: number) {
  const value = storedValue({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: key, uid: key } })
  return { key, value, createRevision: revision, modRevision: revision }
}

function put(key: string, revision: number): Change {
  return { type: 'put', key, revision, entry: entry(key, revision), previous: undefined }
}

function remove(key: string, revision: number): Change {
  return { type: 'delete', key, revision, entry: undefined, previous: undefined }
}

describe('Collection', () => {
  it('lists by prefix in key order, from after a key on', () => {
    const collection = new Collection(
      ['p/b/2', 'p/a/1', 'p/b/1', 'p/ba/1'].map((key) => item(key, 1)),
      1,
    )
    expect(collection.list('p/').map(({ key }) => key)).toEqual(['p/a/1', 'p/b/1', 'p/b/2', 'p/ba/1'])
    expect(collection.list('p/b/').map(({ key }) => key)).toEqual(['p/b/1', 'p/b/2'])
    expect(collection.list('p/b/', 'p/b/1').map(({ key }) => key)).toEqual(['p/b/2'])
    expect(collection.list('p/c/')).toEqual([])
  })

  it('tells listeners every change once, in order, with both states', () => {
    const collection = new Collection([item('p/a', 1)], 1)
    const heard: ItemChange[] = []
    const stop = collection.listen({ changed: (change) => heard.push(change) })
    collection.apply({ changes: [put('p/a', 2), put('p/b', 2)], revision: 2 })
    collection.apply({ changes: [remove('p/a', 3)], revision: 4 })
    stop()
    collection.apply({ changes: [put('p/c', 5)], revision: 5 })
    expect(heard.map(({ revision, before, after }) => [revision, before?.revision, after?.revision])).toEqual([
      [2, 1, 2],
      [2, undefined, 2],
      [3, 2, undefined],
    ])
    expect(collection.revision).toBe(5)
    expect(collection.list('p/').map(({ key }) => key)).toEqual(['p/b', 'p/c'])
  })

  it('keeps recent changes and says where its memory begins', () => {
    const collection = new Collection([], 0)
    const count = MAX_RECENT_CHANGES * 2 + 1
    for (let revision = 1; revision <= count; revision++)
      collection.apply({ changes: [put('p/a', revision)], revision })
    expect(collection.recentFrom).toBe(count - MAX_RECENT_CHANGES)
    expect(collection.changesAfter(collection.recentFrom).length).toBe(MAX_RECENT_CHANGES)
    expect(collection.changesAfter(count)).toEqual([])
  })
})
