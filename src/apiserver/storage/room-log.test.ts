import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { MemoryStore } from './memory-store.ts'
import { roomLoggedStore } from './room-log.ts'
import type { Store, Transaction } from './store.ts'
import { StoreFullError, StoreTooLargeError } from './store-errors.ts'

const put: Transaction = { conditions: [], writes: [{ type: 'put', key: 'a', value: Buffer.from('x') }] }
const remove: Transaction = { conditions: [], writes: [{ type: 'delete', key: 'a' }] }

class FillableStore extends MemoryStore {
  failure: Error | undefined

  override async commit(transaction: Transaction) {
    const grows = transaction.writes.some(({ type }) => type === 'put')
    if (grows && this.failure !== undefined) throw this.failure
    return await super.commit(transaction)
  }
}

function openLogged(isServing = () => true): { inner: FillableStore; store: Store; lines: unknown[] } {
  const lines: unknown[] = []
  const write = (line: string): void => {
    const { level, msg, why } = JSON.parse(line) as { level: number; msg: string; why?: string }
    lines.push([level, msg, why])
  }
  const inner = new FillableStore(new ManualClock())
  return { inner, store: roomLoggedStore(inner, pino({}, { write }), isServing), lines }
}

describe('roomLoggedStore', () => {
  const warning = [40, 'writes are refused for lack of room; reads go on', 'full']

  it('warns once when writes are refused, and tells once when they are taken again', async () => {
    const { inner, store, lines } = openLogged()
    await store.commit(put)
    inner.failure = new StoreFullError('full')
    for (let count = 0; count < 3; count++) await expect(store.commit(put)).rejects.toBe(inner.failure)
    await store.commit(remove)
    expect(lines).toEqual([warning])
    inner.failure = undefined
    const unmet: Transaction = { ...put, conditions: [{ key: 'a', modRevision: 99 }] }
    expect((await store.commit(unmet)).committed).toBe(false)
    for (let count = 0; count < 3; count++) await store.commit(put)
    expect(lines).toEqual([warning, [30, 'there is room again: writes are taken', undefined]])
  })

  it.each([
    ['one write that is too large', new StoreTooLargeError('large')],
    ['another failure', new Error('broken')],
  ])('says nothing of %s', async (_, failure) => {
    const { inner, store, lines } = openLogged()
    inner.failure = failure
    await expect(store.commit(put)).rejects.toBe(failure)
    expect(lines).toEqual([])
  })

  it('says nothing before the server serves', async () => {
    let isServing = false
    const { inner, store, lines } = openLogged(() => isServing)
    inner.failure = new StoreFullError('full')
    await expect(store.commit(put)).rejects.toBe(inner.failure)
    expect(lines).toEqual([])
    isServing = true
    await expect(store.commit(put)).rejects.toBe(inner.failure)
    expect(lines).toEqual([warning])
  })
})
