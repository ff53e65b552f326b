import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { storedValue } from '../objects/item.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { ObjectCache } from './object-cache.ts'
import { objectLookup } from './token-objects.ts'

async function setUp() {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const cache = new ObjectCache(
    store,
    createLogger({ level: 'fatal', format: 'json', destination: { write() {} }, clock }),
  )
  const write = async (key: string, object: KubeObject): Promise<void> => {
    await store.commit({ conditions: [], writes: [{ type: 'put', key, value: storedValue(object) }] })
  }
  const asked: string[] = []
  const get = (key: string) => {
    asked.push(key)
    return store.get(key)
  }
  return { cache, write, asked, find: objectLookup(cache, { get }) }
}

const pod = {
  kind: 'Pod',
  metadata: { name: 'pod-1', namespace: 'default', uid: 'pod-uid' },
  spec: { serviceAccountName: 'worker', nodeName: 'node-1', containers: [] },
}

describe('objectLookup', () => {
  it('finds in memory what is there, and keeps only what tokens need', async () => {
    const { cache, write, asked, find } = await setUp()
    await write('core/pods/default/pod-1', pod)
    await write('core/nodes/node-1', { metadata: { name: 'node-1', uid: 'node-uid' } })
    await cache.load()
    const found = await find('pods', 'default', 'pod-1')
    expect(found).toEqual({
      metadata: { name: 'pod-1', namespace: 'default', uid: 'pod-uid' },
      spec: { serviceAccountName: 'worker', nodeName: 'node-1' },
      data: {},
    })
    expect(await find('pods', 'default', 'pod-1')).toBe(found)
    expect(await find('nodes', '', 'node-1')).toHaveProperty('metadata.uid', 'node-uid')
    expect(asked).toEqual([])
  })

  it('asks the store for what another server may just have written', async () => {
    const { cache, write, asked, find } = await setUp()
    await cache.load()
    await write('core/pods/default/pod-1', pod)
    expect(await find('pods', 'default', 'pod-1')).toHaveProperty('metadata.uid', 'pod-uid')
    expect(await find('pods', 'default', 'pod-2')).toBeUndefined()
    expect(asked).toEqual(['core/pods/default/pod-1', 'core/pods/default/pod-2'])
  })

  it.each(['x'.repeat(254), 'a\0b'])('asks nobody for a name that no object can have', async (name) => {
    const { asked, find } = await setUp()
    expect(await find('secrets', 'default', name)).toBeUndefined()
    expect(asked).toEqual([])
  })
})
