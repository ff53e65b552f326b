import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { LineLimit } from './line-limit.ts'

describe('LineLimit', () => {
  it('admits a burst, then so many per second, and tells how many were left out', async () => {
    const clock = new ManualClock()
    const limit = new LineLimit(clock, 1, 2)
    expect([limit.admit(), limit.admit(), limit.admit(), limit.admit()]).toEqual([{}, {}, undefined, undefined])
    await clock.advance(1_000)
    expect([limit.admit(), limit.admit()]).toEqual([{ unlogged: 2 }, undefined])
    await clock.advance(10_000)
    expect([limit.admit(), limit.admit(), limit.admit()]).toEqual([{ unlogged: 1 }, {}, undefined])
  })
})
