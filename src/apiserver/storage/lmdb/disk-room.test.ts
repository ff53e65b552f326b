import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../telemetry/clock.ts'
import { StoreFullError } from '../store-errors.ts'
import { DiskRoom, freeBytesOf, MEASURE_INTERVAL_MS, MIN_FREE_BYTES, RESERVED_BYTES } from './disk-room.ts'

describe('DiskRoom', () => {
  it.each([
    ['all', RESERVED_BYTES, true, true],
    ['only what makes the store smaller', RESERVED_BYTES - 1, false, true],
    ['only what makes the store smaller', MIN_FREE_BYTES, false, true],
    ['nothing', MIN_FREE_BYTES - 1, false, false],
  ])('lets through %s with %d bytes left', (_, freeBytes, puts, deletes) => {
    const room = new DiskRoom(new ManualClock(), '/data', () => freeBytes)
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
    const room = new DiskRoom(clock, '/data', () => freeBytes)
    expect(() => room.check(true)).toThrow('/data has 0 bytes left')
    freeBytes = RESERVED_BYTES
    expect(() => room.check(true)).toThrow(StoreFullError)
    await clock.advance(MEASURE_INTERVAL_MS)
    room.check(true)
  })

  it('asks the file system, and does without where that has no answer', () => {
    expect(freeBytesOf(tmpdir())).toBeGreaterThan(0)
    expect(freeBytesOf('/nowhere/at/all')).toBe(Number.POSITIVE_INFINITY)
  })
})
