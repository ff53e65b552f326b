import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../runtime/clock.ts'
import { StoreFullError } from '../store-errors.ts'
import {
  DiskRoom,
  freeBytesOf,
  MEASURE_INTERVAL_MS,
  MIN_FREE_BYTES,
  MIN_FREE_TO_GROW_BYTES,
  RESERVED_BYTES,
} from './disk-room.ts'

const inStoreBytes = RESERVED_BYTES - MIN_FREE_TO_GROW_BYTES

function roomWith(diskFreeBytes: () => number, storeFreeBytes = 0, clock = new ManualClock()): DiskRoom {
  return new DiskRoom(clock, '/data', { diskFreeBytes, storeFreeBytes: () => storeFreeBytes })
}

describe('DiskRoom', () => {
  it.each([
    ['all', RESERVED_BYTES, 0, true, true],
    ['only what makes the store smaller', RESERVED_BYTES - 1, 0, false, true],
    ['all', RESERVED_BYTES - 1, 1, true, true],
    ['all', MIN_FREE_TO_GROW_BYTES, inStoreBytes, true, true],
    ['only what makes the store smaller', MIN_FREE_TO_GROW_BYTES, inStoreBytes - 1, false, true],
    ['only what makes the store smaller', MIN_FREE_TO_GROW_BYTES - 1, RESERVED_BYTES, false, true],
    ['only what makes the store smaller', MIN_FREE_BYTES, RESERVED_BYTES, false, true],
    ['nothing', MIN_FREE_BYTES - 1, RESERVED_BYTES, false, false],
  ])('lets through %s with %d bytes left on the disk and %d in the file', (_, onDisk, inStore, puts, deletes) => {
    const room = roomWith(() => onDisk, inStore)
    const passes = (grows: boolean): boolean => {
      try {
        room.check(grows)
        return true
      } catch (error) {
        expect(error).toBeInstanceOf(StoreFullError)
        return false
      }
    }
    expect([passes(true), passes(false)]).toEqual([puts, deletes])
  })

  it('measures now and then, and sees that there is room again', async () => {
    const clock = new ManualClock()
    let freeBytes = 0
    const room = roomWith(() => freeBytes, 0, clock)
    expect(() => room.check(true)).toThrow('/data has 0 MiB left')
    freeBytes = RESERVED_BYTES
    expect(() => room.check(true)).toThrow(StoreFullError)
    await clock.advance(MEASURE_INTERVAL_MS)
    room.check(true)
  })

  it('tells where, how much is left, how much is wanted and what to do, in figures that do not contradict each other', () => {
    expect(() => roomWith(() => 3_051_520).check(true)).toThrow(
      new StoreFullError('the disk under /data has 2.9 MiB left, the store wants 32 MiB; make room on that disk'),
    )
    expect(() => roomWith(() => 3_051_520).check(false)).toThrow('has 2.9 MiB left, the store wants 4 MiB; make room')
    expect(() => roomWith(() => RESERVED_BYTES - 1).check(true)).toThrow(
      'has 31.9 MiB left, the store wants 32 MiB; make room on that disk, or delete objects, which helps some minutes later',
    )
    expect(() => roomWith(() => MIN_FREE_TO_GROW_BYTES, 1024 * 1024).check(true)).toThrow(
      'has 16 MiB left, the store wants 31 MiB',
    )
  })

  it('asks the file system, and does without where that has no answer', () => {
    expect(freeBytesOf(tmpdir())).toBeGreaterThan(0)
    expect(freeBytesOf('/nowhere/at/all')).toBe(Number.POSITIVE_INFINITY)
  })
})
