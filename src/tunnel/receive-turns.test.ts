import { describe, expect, it } from 'vitest'
import type { Clock } from '../runtime/clock.ts'
import { MAX_RECEIVE_TURN_MS, RECEIVE_SLICE_BYTES, ReceiveTurns } from './receive-turns.ts'

/** A session to which every slice costs so much time, and what its carrier was told. */
function session(costMs: number) {
  let nowMs = 0
  const clock = { monotonicMs: () => nowMs } as Clock
  const handled: Uint8Array[] = []
  const told: string[] = []
  const carrier = { pause: () => void told.push('pause'), resume: () => void told.push('resume') }
  const turns = new ReceiveTurns(clock, carrier, (slice) => {
    nowMs += costMs
    handled.push(slice)
  })
  return { turns, told, handled, bytes: () => Buffer.concat(handled) }
}

const numbered = (bytes: number, from = 0): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => from + at))

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('ReceiveTurns', () => {
  it('hands what costs little on at once, without copies', () => {
    const { turns, told, handled } = session(0)
    const chunks = [numbered(10), numbered(RECEIVE_SLICE_BYTES)]
    for (const chunk of chunks) turns.take(chunk)
    expect(handled).toEqual(chunks)
    expect(handled[1]).toBe(chunks[1])
    expect(told).toEqual([])
  })

  it('lets others in when its share of a turn is used up, and goes on in order', async () => {
    const { turns, told, handled, bytes } = session(MAX_RECEIVE_TURN_MS)
    const chunks = [numbered(3 * RECEIVE_SLICE_BYTES + 7), numbered(100, 50), numbered(RECEIVE_SLICE_BYTES, 3)]
    for (const chunk of chunks) turns.take(chunk)
    expect(handled).toHaveLength(1)
    expect(told).toEqual(['pause'])
    while (told.length === 1) {
      const before = handled.length
      await turn()
      expect(handled.length - before).toBeLessThanOrEqual(2)
    }
    expect(told).toEqual(['pause', 'resume'])
    expect(bytes().equals(Buffer.concat(chunks))).toBe(true)
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
