import { describe, expect, it } from 'vitest'
import type { Clock } from '../runtime/clock.ts'
import { TURN_MS } from '../runtime/turns.ts'
import { EndingStreams, STREAMS_ENDED_AT_ONCE, STREAMS_ENDED_PER_LOOK } from './ending-streams.ts'

describe('EndingStreams', () => {
  it('ends a few at once, and many in turns and in order, with others served in between', async () => {
    let nowMs = 0
    const ending = new EndingStreams({ monotonicMs: () => nowMs } as Clock)
    const ended: number[] = []
    const total = STREAMS_ENDED_AT_ONCE + 10 * STREAMS_ENDED_PER_LOOK
    for (let index = 0; index < total; index++)
      ending.add(() => {
        ended.push(index)
        // So that what ends between two looks takes a whole turn.
        nowMs += TURN_MS / STREAMS_ENDED_PER_LOOK
      })
    expect(ended).toHaveLength(STREAMS_ENDED_AT_ONCE)
    let turns = 0
    for (; ended.length < total; turns++) {
      const before = ended.length
      await new Promise((resolve) => setImmediate(resolve))
      expect(ended.length - before).toBeLessThanOrEqual(STREAMS_ENDED_PER_LOOK)
    }
    expect(turns).toBeGreaterThanOrEqual(10)
    expect(ended).toEqual(Array.from({ length: total }, (_, index) => index))
  })
})
