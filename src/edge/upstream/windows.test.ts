import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { MAX_STREAMS_PER_UPSTREAM } from './pool-core.ts'
import { MAX_STREAM_WINDOW_BYTES, MIN_STREAM_WINDOW_BYTES, streamWindowBytes, UNREAD_BUDGET_BYTES } from './windows.ts'

it('grows with the round trip', () => {
  expect(streamWindowBytes(1, 1)).toBe(1024 * 1024)
  expect(streamWindowBytes(50, 1)).toBe(2 * 1024 * 1024)
  expect(streamWindowBytes(undefined, 1)).toBe(4 * 1024 * 1024)
  expect(streamWindowBytes(10_000, 1)).toBe(MAX_STREAM_WINDOW_BYTES)
})

it('keeps the unread bytes of all streams within the budget', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 1, max: MAX_STREAMS_PER_UPSTREAM }),
      (rttMs, streams) => {
        const bytes = streamWindowBytes(rttMs, streams)
        expect(bytes * streams).toBeLessThanOrEqual(UNREAD_BUDGET_BYTES)
        expect(bytes).toBeGreaterThanOrEqual(MIN_STREAM_WINDOW_BYTES)
        expect(Math.log2(bytes) % 1).toBe(0)
      },
    ),
  )
})
