import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatMicroTime, formatTime, parseTime } from './time.ts'

describe('parseTime', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0, 0],
    ['2026-03-01T08:15:30Z', 1_772_352_930, 0],
    ['2026-03-01T10:15:30+02:00', 1_772_352_930, 0],
    ['2026-03-01T08:15:30.123456789Z', 1_772_352_930, 123_456],
    ['0001-01-01T00:00:00Z', -62_135_596_800, 0],
    ['2024-02-29T23:59:59Z', 1_709_251_199, 0],
  ])('reads %s', (text, seconds, microseconds) => {
    expect(parseTime(text)).toEqual({ seconds, microseconds })
  })

  it.each([
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+24:00',
    '26-01-01T00:00:00Z',
    'now',
    '',
  ])('refuses %j', (text) => {
    expect(parseTime(text)).toBeUndefined()
  })
})

describe('formatTime', () => {
  it('is the inverse of parseTime, for every second of 9,999 years', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), (seconds) => {
        expect(parseTime(formatTime(seconds))).toEqual({ seconds, microseconds: 0 })
      }),
    )
  })

  it('prints years that RFC 3339 does not have as Go does', () => {
    expect(formatTime(253_402_300_800)).toBe('10000-01-01T00:00:00Z')
    expect(formatTime(-62_135_596_801)).toBe('0000-12-31T23:59:59Z')
    expect(formatTime(-62_167_219_201)).toBe('-0001-12-31T23:59:59Z')
    expect(formatTime(9_000_000_000_000_000_000n)).toMatch(/^\d{12}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  it('writes microseconds with all their zeros', () => {
    expect(formatMicroTime(0, 120)).toBe('1970-01-01T00:00:00.000120Z')
  })
})
