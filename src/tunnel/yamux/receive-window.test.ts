import { describe, expect, it } from 'vitest'
import { type Account, Budget } from './budget.ts'
import { MAX_WINDOW_BYTES, MIN_WINDOW_BYTES } from './limits.ts'
import { MAX_CREDIT_STEP_BYTES, ReceiveWindow } from './receive-window.ts'
import { INITIAL_WINDOW_BYTES } from './wire.ts'

const rttMs = 20

function newWindow(account: Account = new Budget().openAccount(() => {})): ReceiveWindow {
  return new ReceiveWindow(account, MAX_WINDOW_BYTES)
}

/** The peer sends all it may and the reader takes it at once; returns the credit. */
function useUp(window: ReceiveWindow, nowMs: number, streams = 1): number {
  window.take(window.sizeBytes)
  expect(window.wasRead(0)).toBe(true)
  return window.update(0, { nowMs, rttMs, streams })
}

describe('ReceiveWindow', () => {
  it('gives credit back when half of it has been read', () => {
    const window = newWindow()
    expect(window.take(INITIAL_WINDOW_BYTES / 2)).toBe(true)
    expect(window.wasRead(1)).toBe(false)
    expect(window.wasRead(0)).toBe(true)
    expect(window.update(0, { nowMs: 0, rttMs, streams: 1 })).toBe(INITIAL_WINDOW_BYTES / 2)
  })

  it('gives credit of a large window back in smaller steps', () => {
    const window = newWindow()
    for (let nowMs = 0; nowMs < 9; nowMs++) useUp(window, nowMs)
    expect(window.sizeBytes).toBe(MAX_WINDOW_BYTES)
    window.take(MAX_CREDIT_STEP_BYTES)
    expect(window.wasRead(1)).toBe(false)
    expect(window.wasRead(0)).toBe(true)
    expect(window.update(0, { nowMs: 9, rttMs, streams: 1 })).toBe(MAX_CREDIT_STEP_BYTES)
  })

  it('refuses more than was allowed', () => {
    const window = newWindow()
    expect(window.take(INITIAL_WINDOW_BYTES + 1)).toBe(false)
    expect(window.take(INITIAL_WINDOW_BYTES)).toBe(true)
    expect(window.take(1)).toBe(false)
  })

  it('doubles while it is used up within four round trips, to the largest size', () => {
    const window = newWindow()
    let nowMs = 0
    const sizes: number[] = []
    for (let round = 0; round < 9; round++) {
      nowMs += 4 * rttMs - 1
      useUp(window, nowMs)
      sizes.push(window.sizeBytes / INITIAL_WINDOW_BYTES)
    }
    expect(sizes).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
  })

  it('stays as it is when the reader is slower than that, or the round trip is not known', () => {
    const window = newWindow()
    useUp(window, 0)
    useUp(window, 4 * rttMs)
    expect(window.sizeBytes).toBe(INITIAL_WINDOW_BYTES)
    window.take(window.sizeBytes)
    window.update(0, { nowMs: 4 * rttMs + 1, rttMs: undefined, streams: 1 })
    expect(window.sizeBytes).toBe(INITIAL_WINDOW_BYTES)
  })

  it('stays as it is when the reader does not keep up', () => {
    const window = newWindow()
    const unreadBytes = INITIAL_WINDOW_BYTES / 4 + 1
    for (let round = 0; round < 5; round++) {
      window.take(INITIAL_WINDOW_BYTES / 2)
      window.wasRead(unreadBytes)
      window.update(unreadBytes, { nowMs: round, rttMs, streams: 1 })
    }
    expect(window.sizeBytes).toBe(INITIAL_WINDOW_BYTES)
  })

  it('grows where whole windows come in bursts, which leaves much unread at every update but nothing after it', () => {
    const window = newWindow()
    for (let nowMs = 0; nowMs < 3 * rttMs; nowMs += rttMs) {
      window.take(window.sizeBytes / 2)
      const halfBytes = window.sizeBytes / 2
      if (window.wasRead(halfBytes - 1)) window.update(halfBytes - 1, { nowMs, rttMs, streams: 1 })
      window.wasRead(0)
    }
    expect(window.sizeBytes).toBeGreaterThan(INITIAL_WINDOW_BYTES)
  })

  it('does not grow beyond what the session or the process may promise, and gives all back', () => {
    const budget = new Budget({ maxProcessWindowBytes: INITIAL_WINDOW_BYTES })
    const [first, second] = [newWindow(budget.openAccount(() => {})), newWindow(budget.openAccount(() => {}))]
    for (const window of [first, second]) {
      for (let round = 0; round < 5; round++) useUp(window, round)
    }
    expect([first.sizeBytes, second.sizeBytes]).toEqual([2 * INITIAL_WINDOW_BYTES, INITIAL_WINDOW_BYTES])
    first.close()
    second.close()
    expect(budget.windowBytes).toBe(0)
  })

  it('shrinks to a fair share when there are many streams, and still moves', () => {
    const budget = new Budget()
    const window = newWindow(budget.openAccount(() => {}))
    for (let round = 0; round < 9; round++) useUp(window, round)
    expect(useUp(window, 10, 100_000)).toBe(MIN_WINDOW_BYTES)
    expect(window.sizeBytes).toBe(MIN_WINDOW_BYTES)
    expect(budget.windowBytes).toBe(0)
    expect(useUp(window, 11, 100_000)).toBe(MIN_WINDOW_BYTES)
  })

  it('gives nothing back while more is out than the smaller window allows', () => {
    const window = newWindow()
    window.take(INITIAL_WINDOW_BYTES / 2)
    expect(window.update(0, { nowMs: 0, rttMs, streams: 100_000 })).toBe(0)
    expect(window.take(INITIAL_WINDOW_BYTES / 2)).toBe(true)
    expect(window.update(0, { nowMs: 0, rttMs, streams: 100_000 })).toBe(MIN_WINDOW_BYTES)
  })
})
