import { describe, expect, it } from 'vitest'
import { Item, storedValue } from '../item.ts'
import { type Resource, storedResource } from '../resource.ts'
import { servedItem } from './served-item.ts'

const core = storedResource('', 'v1', 'events') as Resource
const eventsGroup = storedResource('events.k8s.io', 'v1', 'events') as Resource
const object = {
  kind: 'Event',
  apiVersion: 'v1',
  metadata: { name: 'e', namespace: 'ns', uid: 'u' },
  involvedObject: {},
  message: 'm',
}
const entry = { key: 'core/events/ns/e', value: storedValue(object), createRevision: 7, modRevision: 7 }

describe('servedItem', () => {
  it('serves the stored version as it is', () => {
    const item = Item.fromEntry(entry)
    expect(servedItem(item, core)).toBe(item)
  })

  it('converts an item once, with its key and version', () => {
    const item = Item.fromEntry(entry)
    const served = servedItem(item, eventsGroup)
    expect(served).toMatchObject({ key: item.key, revision: 7 })
    expect(served.object()).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      note: 'm',
      metadata: { resourceVersion: '7' },
    })
    expect(servedItem(item, eventsGroup)).toBe(served)
  })

  it('can be shown under another revision', () => {
    const gone = servedItem(Item.fromEntry(entry), eventsGroup).at(9)
    expect(gone.object().metadata?.resourceVersion).toBe('9')
  })
})
