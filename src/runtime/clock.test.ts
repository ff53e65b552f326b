import { afterEach, describe, expect, it, vi } from 'vitest'
import { ManualClock, systemClock } from './clock.ts'

describe('ManualClock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new ManualClock(1_000)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_000, 0])
    await clock.advance(250)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_250, 250])
  })

  it('runs appointments by due time, then in the order they were made', async () => {
    const clock = new ManualClock()
    const ran: string[] = []
    clock.schedule(20, () => ran.push('c'))
    clock.schedule(10, () => ran.push('a'))
    clock.schedule(10, () => ran.push('b'))
    clock.schedule(30, () => ran.push('never'))
    await clock.advance(20)
    expect(ran).toEqual(['a', 'b', 'c'])
    expect(clock.pending).toBe(1)
    expect(clock.nextDueMs).toBe(10)
  })

  it('shows each appointment its own due time, also those made on the way', async () => {
    const clock = new ManualClock()
    const seenMs: number[] = []
    const again = (): void => {
      seenMs.push(clock.monotonicMs())
      clock.schedule(10, again)
    }
    clock.schedule(10, again)
    await clock.advance(35)
    expect(seenMs).toEqual([10, 20, 30])
    expect(clock.monotonicMs()).toBe(35)
  })

  it('forgets a cancelled appointment', async () => {
    const clock = new ManualClock()
    let ran = false
    const cancel = clock.schedule(10, () => {
      ran = true
    })
    cancel()
    expect(clock.pending).toBe(0)
    expect(clock.nextDueMs).toBeUndefined()
    await clock.advance(100)
    expect(ran).toBe(false)
  })

  it('lets sleepers act before the next appointment', async () => {
    const clock = new ManualClock()
    const seenMs: number[] = []
    const sleeper = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await clock.sleep(5)
        seenMs.push(clock.monotonicMs())
      }
    }
    const done = sleeper()
    await clock.advance(100)
    await done
    expect(seenMs).toEqual([5, 10, 15])
  })

  it('jumps the date without touching durations', async () => {
    const clock = new ManualClock(5_000)
    await clock.advance(100)
    clock.jumpTo(1_000_000)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_000_000, 100])
    await clock.advance(1)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_000_001, 101])
  })
})

describe.each([
  ['systemClock', systemClock],
  ['ManualClock', new ManualClock()],
])('sleep of %s', (_name, clock) => {
  it('rejects with the reason when the signal has already aborted', async () => {
    const reason = new Error('stop')
    await expect(clock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  it('rejects with the reason when the signal aborts on the way', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const sleeping = clock.sleep(60_000, controller.signal)
    controller.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
  })
})

describe('systemClock', () => {
  it('resolves a sleep and runs a scheduled action', async () => {
    await systemClock.sleep(0)
    await new Promise<void>((resolve) => {
      systemClock.schedule(0, resolve)
    })
  })

  it('never goes back on the monotonic scale', () => {
    const firstMs = systemClock.monotonicMs()
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(firstMs)
  })

  it('does not run what was cancelled', async () => {
    let ran = false
    systemClock.schedule(0, () => {
      ran = true
    })()
    await systemClock.sleep(1)
    expect(ran).toBe(false)
  })
})

describe('a wait that is longer than those of timers', () => {
  const monthMs = 31 * 86_400_000

  afterEach(() => {
    vi.useRealTimers()
  })

  it('ends when it is over, and not at once', () => {
    vi.useFakeTimers()
    const ran: string[] = []
    systemClock.schedule(monthMs, () => ran.push('late'))
    systemClock.schedule(3 * monthMs, () => ran.push('never'))()
    vi.advanceTimersByTime(monthMs - 1)
    expect(ran).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ran).toEqual(['late'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('can be cancelled in its second part', () => {
    vi.useFakeTimers()
    const ran: string[] = []
    const cancel = systemClock.schedule(monthMs, () => ran.push('late'))
    vi.advanceTimersByTime(monthMs - 1)
    cancel()
    vi.advanceTimersByTime(monthMs)
    expect(ran).toEqual([])
  })
})
