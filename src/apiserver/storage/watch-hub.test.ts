import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { Change } from './store.ts'
import { StoreUnavailableError } from './store-errors.ts'
import { MAX_QUEUED_CHANGES, PROGRESS_INTERVAL_MS, WatchHub } from './watch-hub.ts'

const change = (key: string, revision: number): Change => ({
  type: 'delete',
  key,
  revision,
  entry: undefined,
  previous: undefined,
})
const never = new AbortController().signal

describe('WatchHub', () => {
  it('hands out one batch to all who watch the same prefix', async () => {
    const hub = new WatchHub(new ManualClock(), 1)
    const [one, two, other] = [hub.subscribe('a'), hub.subscribe('a'), hub.subscribe('')]
    hub.publish([change('a', 2), change('b', 3)], 3)
    const taken = await one.take(never)
    expect(taken).toEqual({ type: 'batch', batch: { changes: [change('a', 2)], revision: 3 } })
    expect(await two.take(never)).toEqual(taken)
    expect(await other.take(never)).toMatchObject({ batch: { changes: [{ key: 'a' }, { key: 'b' }] } })
  })

  it('drops the queue of a reader that falls behind, and tells it', async () => {
    const hub = new WatchHub(new ManualClock(), 1)
    const slow = hub.subscribe('')
    for (let revision = 2; revision <= MAX_QUEUED_CHANGES + 2; revision++)
      hub.publish([change('a', revision)], revision)
    expect(await slow.take(never)).toEqual({ type: 'fell-behind' })
  })

  it('gives a single batch to its reader however large it is', async () => {
    const hub = new WatchHub(new ManualClock(), 1)
    const reader = hub.subscribe('')
    const changes = Array.from({ length: MAX_QUEUED_CHANGES + 1 }, (_, index) => change(`${index}`, 2))
    hub.publish(changes, 2)
    expect(await reader.take(never)).toEqual({ type: 'batch', batch: { changes, revision: 2 } })
  })

  it('reports progress now and then, to those who have not heard of it', async () => {
    const clock = new ManualClock()
    const hub = new WatchHub(clock, 1)
    const quiet = hub.subscribe('quiet')
    hub.publish([change('loud', 2)], 2)
    await clock.advance(PROGRESS_INTERVAL_MS)
    expect(await quiet.take(never)).toEqual({ type: 'batch', batch: { changes: [], revision: 2 } })
    await clock.advance(PROGRESS_INTERVAL_MS)
    hub.publish([change('quiet', 3)], 3)
    expect(await quiet.take(never)).toMatchObject({ batch: { revision: 3 } })
  })

  it('leaves nothing behind when the last reader has gone', () => {
    const clock = new ManualClock()
    const hub = new WatchHub(clock, 1)
    const [one, two] = [hub.subscribe('a'), hub.subscribe('b')]
    one.cancel()
    expect(clock.pending).toBe(1)
    two.cancel()
    expect(clock.pending).toBe(0)
  })

  it('wakes a waiting reader when its signal aborts and when the hub closes', async () => {
    const hub = new WatchHub(new ManualClock(), 1)
    const abort = new AbortController()
    const aborted = hub.subscribe('').take(abort.signal)
    const closed = hub.subscribe('').take(never)
    abort.abort()
    expect(await aborted).toBeUndefined()
    hub.close()
    await expect(closed).rejects.toBeInstanceOf(StoreUnavailableError)
    expect(() => hub.subscribe('')).toThrow(StoreUnavailableError)
  })
})
