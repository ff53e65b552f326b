import { describe, expect, it } from 'vitest'
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  BACKOFF_RESET_MS,
  Backoff,
  MAX_RETRY_AFTER_MS,
  UNREADABLE_BACKOFF,
} from './backoff.ts'

describe('backoff', () => {
  it('doubles its ceiling up to the maximum', () => {
    const backoff = new Backoff(() => 1)
    const delays = Array.from({ length: 8 }, () => backoff.next(0))
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it('draws from the whole range below the ceiling', () => {
    expect(new Backoff(() => 0).next(0)).toBe(0)
    expect(new Backoff(() => 0.25).next(0)).toBe(BACKOFF_FIRST_MS / 4)
  })

  it('answers in whole milliseconds', () => {
    expect(new Backoff(() => 0.4707343).next(0)).toBe(471)
  })

  it('can keep a distance and take longer steps', () => {
    const longest = new Backoff(() => 1, UNREADABLE_BACKOFF)
    expect(Array.from({ length: 5 }, () => longest.next(0))).toEqual([60_000, 120_000, 240_000, 300_000, 300_000])
    const shortest = new Backoff(() => 0, UNREADABLE_BACKOFF)
    expect(Array.from({ length: 3 }, () => shortest.next(0))).toEqual([30_000, 30_000, 30_000])
  })

  it('starts anew after a quiet period, counted from the end of the last wait', () => {
    const backoff = new Backoff(() => 1)
    for (let count = 0; count < 9; count++) backoff.next(0)
    expect(backoff.next(BACKOFF_RESET_MS)).toBe(BACKOFF_MAX_MS)
    expect(backoff.next(BACKOFF_RESET_MS + BACKOFF_MAX_MS + BACKOFF_RESET_MS)).toBe(BACKOFF_FIRST_MS)
  })

  it('starts anew after a success', () => {
    const backoff = new Backoff(() => 1)
    backoff.next(0)
    backoff.reset()
    expect(backoff.next(0)).toBe(BACKOFF_FIRST_MS)
  })

  it('can grow otherwise, and leave a share to chance', () => {
    const steps = { firstMs: 1_000, maxMs: 3_000, factor: 1.5, shares: [1, 1.1] } as const
    const shortest = new Backoff(() => 0, steps)
    expect(Array.from({ length: 5 }, () => shortest.next(0))).toEqual([1_000, 1_500, 2_250, 3_000, 3_000])
    const longest = new Backoff(() => 1, steps)
    expect(Array.from({ length: 5 }, () => longest.next(0))).toEqual([1_100, 1_650, 2_475, 3_300, 3_300])
  })

  it('waits as long as the server asks, within reason', () => {
    const backoff = new Backoff(() => 1)
    expect(backoff.next(0, 10_000)).toBe(10_000)
    expect(backoff.next(0, 1e12)).toBe(MAX_RETRY_AFTER_MS)
  })
})
