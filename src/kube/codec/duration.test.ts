import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('durations', () => {
  it.each([
    ['0', 0n, '0s'],
    ['0s', 0n, '0s'],
    ['1h30m', 5_400_000_000_000n, '1h30m0s'],
    ['90s', 90_000_000_000n, '1m30s'],
    ['1.5s', 1_500_000_000n, '1.5s'],
    ['-2m', -120_000_000_000n, '-2m0s'],
    ['100ms', 100_000_000n, '100ms'],
    ['1us', 1_000n, '1µs'],
    ['3ns', 3n, '3ns'],
    ['.5h', 1_800_000_000_000n, '30m0s'],
    ['1h0.5s', 3_600_500_000_000n, '1h0m0.5s'],
  ])('reads %s', (text, nanoseconds, printed) => {
    expect(parseDuration(text)).toBe(nanoseconds)
    expect(formatDuration(nanoseconds)).toBe(printed)
  })

  it.each(['', '1', 's', '1x', '1h 30m', '.s', '1.2.3s', 'h1', '9223372036854775808ns', '1h'.repeat(40)])(
    'refuses %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )

  it('prints what it reads as the same duration', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanoseconds) => {
        expect(parseDuration(formatDuration(nanoseconds))).toBe(nanoseconds)
      }),
    )
  })
})
