import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawRotationMs, isNearExpiry, isTimelyRotation } from './rotation.ts'

const life = { notBeforeMs: 1000, notAfterMs: 11_000 }

describe('drawRotationMs', () => {
  it('spreads over 20 to 40 percent of the life', () => {
    expect(drawRotationMs(life, () => 0)).toBe(3000)
    expect(drawRotationMs(life, () => 0.5)).toBe(4000)
    expect(drawRotationMs(life, () => 1 - Number.EPSILON)).toBeLessThanOrEqual(5000)
  })

  it('never leaves the window', () => {
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 1000, max: 1e12 }),
        fraction,
        (start, length, dice) => {
          const at = drawRotationMs({ notBeforeMs: start, notAfterMs: start + length }, () => dice)
          expect(at).toBeGreaterThanOrEqual(Math.floor(start + length * 0.2))
          expect(at).toBeLessThanOrEqual(start + length * 0.4)
        },
      ),
    )
  })
})

describe('isTimelyRotation', () => {
  it('takes every moment that is drawn now, and none of those that used to be', () => {
    expect([0, 3000, 5000, 7999].map((atMs) => isTimelyRotation(atMs, life))).toEqual([true, true, true, true])
    expect([8000, 10_000, 20_000].map((atMs) => isTimelyRotation(atMs, life))).toEqual([false, false, false])
  })
})

describe('isNearExpiry', () => {
  it.each([
    [0, false],
    [8999, false],
    [9000, true],
    [20_000, true],
  ])('at %i: %s', (nowMs, near) => {
    expect(isNearExpiry(life, nowMs)).toBe(near)
  })
})
