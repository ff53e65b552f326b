import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { humanAge, humanDuration, TOLERATED_FUTURE_MS } from './human-duration.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day

describe('humanDuration', () => {
  it.each([
    [0, '0s'],
    [999, '0s'],
    [119 * second + 999, '119s'],
    [2 * minute, '2m'],
    [2 * minute + second, '2m1s'],
    [10 * minute - 1, '9m59s'],
    [10 * minute + 59 * second, '10m'],
    [3 * hour - 1, '179m'],
    [3 * hour, '3h'],
    [3 * hour + 20 * minute, '3h20m'],
    [8 * hour - 1, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [2 * day - 1, '47h'],
    [5 * day + 3 * hour, '5d3h'],
    [8 * day - 1, '7d23h'],
    [8 * day + 23 * hour, '8d'],
    [2 * year - 1, '729d'],
    [2 * year, '2y'],
    [2 * year + 10 * day, '2y10d'],
    [8 * year - 1, '7y364d'],
    [20 * year + 300 * day, '20y'],
  ])('writes %d ms as %s', (durationMs, text) => {
    expect(humanDuration(durationMs)).toBe(text)
  })

  it('takes the near future for now and calls the rest invalid', () => {
    expect(humanDuration(1 - TOLERATED_FUTURE_MS)).toBe('0s')
    expect(humanDuration(-TOLERATED_FUTURE_MS)).toBe('<invalid>')
  })

  it('never says more than the truth, and at most an eighth less', () => {
    fc.assert(
      fc.property(fc.integer({ min: second * 10, max: 100 * year }), (durationMs) => {
        const read = readBack(humanDuration(durationMs))
        expect(read).toBeLessThanOrEqual(durationMs)
        expect(read).toBeGreaterThan(durationMs * (7 / 8))
      }),
    )
  })
})

describe('humanAge', () => {
  it('counts from the instant, if there is one', () => {
    expect(humanAge(1_000, 61_000)).toBe('60s')
    expect(humanAge(undefined, 61_000)).toBe('<unknown>')
  })
})

function readBack(text: string): number {
  const units: Readonly<Record<string, number>> = { s: second, m: minute, h: hour, d: day, y: year }
  return [...text.matchAll(/(\d+)([smhdy])/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0),
    0,
  )
}
