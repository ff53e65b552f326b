import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { MAX_WAITING_LIST_BYTES, PolledLists, READ_AGAIN_MS } from './polled-lists.ts'

describe('of lists that come again and again', () => {
  let clock: ManualClock
  let polled: PolledLists
  let read: string[]

  beforeEach(() => {
    clock = new ManualClock()
    polled = new PolledLists(clock)
    read = []
  })

  const offer = (key: string, resourceVersion: string, bytes = 10): void =>
    polled.offer(key, {
      resourceVersion,
      body: Buffer.alloc(bytes),
      read: (isUrgent) => read.push(`${key} ${resourceVersion}${isUrgent ? ' urgent' : ''}`),
    })

  it('the first is read at once, and the newest of what follows after a while', async () => {
    for (const version of ['5', '7', '9', '8']) offer('pods', version)
    offer('nodes', '1')
    expect(read).toEqual(['pods 5', 'nodes 1'])
    await clock.advance(READ_AGAIN_MS)
    expect(read).toEqual(['pods 5', 'nodes 1', 'pods 9'])
    offer('pods', '10')
    await clock.advance(READ_AGAIN_MS)
    expect(read.at(-1)).toBe('pods 10')
  })

  it('one that comes after a while is read at once again', async () => {
    offer('pods', '5')
    await clock.advance(READ_AGAIN_MS)
    offer('pods', '6')
    expect(read).toEqual(['pods 5', 'pods 6'])
  })

  it('all that wait are read when nothing else will come', () => {
    for (const version of ['5', '6']) for (const key of ['pods', 'nodes']) offer(key, version)
    polled.flush()
    polled.flush()
    expect(read).toEqual(['pods 5', 'nodes 5', 'pods 6 urgent', 'nodes 6 urgent'])
  })

  it('none waits where that would be too much', async () => {
    const half = MAX_WAITING_LIST_BYTES / 2 + 1
    for (const version of ['5', '6']) for (const key of ['pods', 'nodes']) offer(key, version, half)
    expect(read).toEqual(['pods 5', 'nodes 5', 'nodes 6'])
    await clock.advance(READ_AGAIN_MS)
    expect(read.at(-1)).toBe('pods 6')
    // What was counted for them is free again.
    offer('pods', '7', half)
    expect(read).toHaveLength(4)
  })
})
