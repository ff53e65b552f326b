import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { ObjectCache } from '../core/object-cache.ts'
import { storedValue } from '../objects/item.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { lookupIn, PODS } from './lookup.ts'

function stateOf(name: string, revision: number, label: string) {
  const key = `core/pods/work/${name}`
  const object: KubeObject = { metadata: { name, namespace: 'work', uid: 'u', labels: { label } } }
  const entry = { key, value: storedValue(object), createRevision: 1, modRevision: revision }
  return { changes: [{ type: 'put' as const, key, entry, previous: undefined, revision }], revision }
}

it('reads an object once for each of its states, and keeps what is small', () => {
  const cache = new ObjectCache(new MemoryStore(new ManualClock()), pino({ level: 'silent' }))
  const collection = cache.collection('core/pods/')
  const lookup = lookupIn(cache)
  const read: string[] = []
  const reading = {
    read: ({ metadata = {} }: KubeObject) => {
      read.push(`${metadata.name}`)
      return metadata.labels?.['label'] ?? ''
    },
    isKept: (label: string) => label !== 'large',
  }
  const reads = (): string[] => [...lookup.reads(PODS, 'work', reading)]
  collection.apply(stateOf('a', 1, 'small'))
  collection.apply(stateOf('b', 2, 'large'))
  expect([reads(), reads()]).toEqual([
    ['small', 'large'],
    ['small', 'large'],
  ])
  expect(read).toEqual(['a', 'b', 'b'])
  collection.apply(stateOf('a', 3, 'other'))
  expect([reads(), read.length]).toEqual([['other', 'large'], 5])
  expect([lookup.count(PODS, 'work'), lookup.has(PODS, 'work', 'a'), lookup.has(PODS, 'work', 'c')]).toEqual([
    2,
    true,
    false,
  ])
})
