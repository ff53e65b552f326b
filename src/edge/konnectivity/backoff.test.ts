import { describe, expect, it } from 'vitest'
import { Backoff } from './backoff.ts'

describe('the wait between attempts', () => {
  it('grows by half after each failure up to its cap, and begins again after a success', () => {
    const backoff = new Backoff(1_000, 3_000, () => 0)
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([
      1_000, 1_500, 2_250, 3_000, 3_000,
    ])
    expect([backoff.reset(), backoff.next()]).toEqual([1_000, 1_000])
  })

  it('is longer by a tenth at most', () => {
    expect(new Backoff(1_000, 3_000, () => 0.999).next()).toBeCloseTo(1_099.9)
  })
})
