import { describe, expect, it } from 'vitest'
import type { Clock } from '../runtime/clock.ts'
import { TURN_MS } from '../runtime/turns.ts'
import { MAX_RECEIVE_TURN_MS, ReceiveTurns } from './receive-turns.ts'

/** A session to which every byte is a frame that costs so much time, and what its carrier was told. */
function session(costMs: number) {
  let nowMs = 0
  const clock = { monotonicMs: () => nowMs } as Clock
  const handled: number[] = []
  const told: string[] = []
  const carrier = { pause: () => void told.push('pause'), resume: () => void told.push('resume') }
  const turns = new ReceiveTurns(clock, carrier, (chunk, isTimeUp) => {
    for (const [at, byte] of chunk.entries()) {
      handled.push(byte)
      nowMs += costMs
      if (isTimeUp() && at + 1 < chunk.length) return chunk.subarray(at + 1)
    }
    return undefined
  })
  return { turns, told, handled }
}

const numbered = (bytes: number, from = 0): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => from + at))

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('ReceiveTurns', () => {
  it('hands what costs little on at once', () => {
    const { turns, told, handled } = session(0)
    turns.take(numbered(10))
    turns.take(numbered(20))
    expect(handled).toEqual([...numbered(10), ...numbered(20)])
    expect(told).toEqual([])
  })

  it('lets others in when its share of a turn is used up, and goes on in order', async () => {
    const { turns, told, handled } = session(MAX_RECEIVE_TURN_MS / 2)
    const chunks = [numbered(7), numbered(1, 50), numbered(20, 100)]
    for (const chunk of chunks) turns.take(chunk)
    expect(handled).toHaveLength(2)
    expect(told).toEqual(['pause'])
    while (told.length === 1) {
      const before = handled.length
      await turn()
      // All sessions that wait share one slice of each turn.
      expect(handled.length - before).toBeLessThanOrEqual((2 * TURN_MS) / MAX_RECEIVE_TURN_MS + 2)
    }
    expect(told).toEqual(['pause', 'resume'])
    expect(handled).toEqual(chunks.flatMap((chunk) => [...chunk]))
  })

  it('adds up what many small chunks of one turn cost, and begins anew with the next', async () => {
    const { turns, told, handled } = session(MAX_RECEIVE_TURN_MS / 4)
    for (let count = 0; count < 4; count++) turns.take(numbered(1))
    expect(told).toEqual([])
    await turn()
    for (let count = 0; count < 5; count++) turns.take(numbered(1))
    expect([handled.length, told]).toEqual([8, ['pause']])
  })
})
