import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { finished, inTurns, type Steps, tried } from './steps.ts'
import { TURN_MS, Turns } from './turns.ts'

function world() {
  let nowMs = 0
  const clock = Object.assign(new ManualClock(), { monotonicMs: () => nowMs })
  function* count(to: number): Steps<number> {
    for (let index = 0; index < to; index++) {
      nowMs += TURN_MS / 2
      yield
    }
    return to
  }
  return { count, turns: new Turns(clock) }
}

describe('steps', () => {
  it('are taken in one go', () => {
    expect(finished(world().count(7))).toBe(7)
  })

  it('are tried for a turn, and gone on with', async () => {
    const { count, turns } = world()
    const steps = count(5)
    expect(tried(steps, turns)).toBeUndefined()
    await turns.next()
    expect(await inTurns(steps, turns)).toBe(5)
    expect(tried(count(0), new Turns(new ManualClock()))).toEqual({ result: 0 })
  })

  it('let others have their turns', async () => {
    const { count, turns } = world()
    let others = 0
    const other = (): void => {
      if (++others < 100) setImmediate(other)
    }
    setImmediate(other)
    await inTurns(count(8), turns)
    expect(others).toBeGreaterThanOrEqual(2)
  })
})
