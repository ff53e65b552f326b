import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { scheduleAt } from './schedule-at.ts'

const dayMs = 24 * 60 * 60 * 1000

describe('a timer for a date', () => {
  it('runs at that date, which may be further away than a timer takes', async () => {
    const clock = new ManualClock()
    const action = vi.fn()
    scheduleAt(clock, clock.nowMs() + 60 * dayMs, action)
    await clock.advance(60 * dayMs - 1)
    expect(action).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(action).toHaveBeenCalledTimes(1)
  })

  it('can be cancelled at any time', async () => {
    const clock = new ManualClock()
    const action = vi.fn()
    const cancel = scheduleAt(clock, clock.nowMs() + dayMs, action)
    await clock.advance(dayMs / 2)
    cancel()
    await clock.advance(dayMs)
    expect(action).not.toHaveBeenCalled()
    expect(clock.nextDueMs).toBeUndefined()
  })
})
