import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawRotationMs, isNearExpiry } from './rotation.ts'

const life = { notBeforeMs: 1000, notAfterMs: 11_000 }

describe('drawRotationMs', () => {
  it('spreads over 70 to 90 percent of the life', () => {
    expect(drawRotationMs(life, () => 0)).toBe(8000)
    expect(drawRotationMs(life, () => 0.5)).toBe(9000)
    expect(drawRotationMs(life, () => 1 - Number.EPSILON)).toBeLessThanOrEqual(10_000)
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
          expect(at).toBeGreaterThanOrEqual(Math.floor(start + length * 0.7))
          expect(at).toBeLessThanOrEqual(start + length * 0.9)
        },
      ),
    )
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
