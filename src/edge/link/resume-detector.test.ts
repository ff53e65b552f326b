import { describe, expect, it } from 'vitest'
import { ResumeDetector, UNSEEN_TIME_MS } from './resume-detector.ts'

const intervalMs = 5_000

describe('a resume detector', () => {
  it.each([
    ['an ordinary interval', intervalMs, intervalMs, false],
    ['a timer that is a little late', intervalMs + UNSEEN_TIME_MS - 1, intervalMs + UNSEEN_TIME_MS - 1, false],
    ['a stopped process: both clocks went on', 60_000, 60_000, true],
    ['a machine that slept: only the date went on', 3_600_000, intervalMs, true],
    ['a date set back', -3_600_000, intervalMs, false],
  ])('sees %s', (_, wallMs, monotonicMs, expected) => {
    const detector = new ResumeDetector(1_000_000, 500)
    expect(detector.observe(1_000_000 + wallMs, 500 + monotonicMs, intervalMs)).toBe(expected)
    expect(detector.observe(1_000_000 + wallMs + intervalMs, 500 + monotonicMs + intervalMs, intervalMs)).toBe(false)
  })
})
