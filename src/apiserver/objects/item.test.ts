import { describe, expect, it } from 'vitest'
import { Item, storedValue } from './item.ts'

const object = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: {
    name: 'a',
    namespace: 'default',
    uid: '0c9b7c1e-58a4-4b37-8d0e-0f9c6b5f4a11',
    resourceVersion: '9',
    labels: { a: 'b' },
  },
  data: { uid: 'not this one' },
}

describe('Item', () => {
  const entry = { key: 'core/configmaps/default/a', value: storedValue(object), createRevision: 7, modRevision: 12 }

  it('is stored without a version and read with that of the store', () => {
    expect(JSON.parse(entry.value.toString('utf8'))).not.toHaveProperty('metadata.resourceVersion')
    const item = Item.fromEntry(entry)
    expect(item.object()).toEqual({ ...object, metadata: { ...object.metadata, resourceVersion: '12' } })
    expect(item.json.toString('utf8')).toContain('"uid":"0c9b7c1e-58a4-4b37-8d0e-0f9c6b5f4a11","resourceVersion":"12"')
  })

  it('shows the same state under another version', () => {
    expect(Item.fromEntry(entry).at(99).object().metadata?.resourceVersion).toBe('99')
  })

  it('gives out copies', () => {
    const item = Item.fromEntry(entry)
    item.object().metadata = {}
    expect(item.object().metadata?.name).toBe('a')
    expect([...item.labels]).toEqual([['a', 'b']])
  })

  it('knows the fields that it may be selected by', () => {
    const item = Item.fromEntry(entry)
    for (const _ of [1, 2]) {
      expect(item.field('ConfigMap', 'metadata.namespace')).toBe('default')
      expect(item.field('ConfigMap', 'spec.nodeName')).toBe('')
    }
  })

  it('tells whether a value is what it holds', () => {
    const item = Item.fromEntry(entry)
    expect(item.holds(storedValue(item.object()))).toBe(true)
    expect(item.holds(storedValue({ ...object, data: { uid: 'another one' } }))).toBe(false)
  })

  it('refuses what no API server can have stored', () => {
    expect(() => Item.fromEntry({ ...entry, value: Buffer.from('{}') })).toThrow('has no uid')
  })
})
