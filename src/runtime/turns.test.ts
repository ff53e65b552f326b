import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { nextTurn, TURN_MS, Turns, turnFor } from './turns.ts'

describe('Turns', () => {
  it('are over after their time, and begin again', async () => {
    const clock = new ManualClock()
    const turns = new Turns(clock)
    expect(turns.isOver).toBe(false)
    await clock.advance(TURN_MS)
    expect(turns.isOver).toBe(true)
    await turns.next()
    expect(turns.isOver).toBe(false)
  })

  it('let everybody else who is ready go first', async () => {
    const order: string[] = []
    setImmediate(() => order.push('other'))
    await nextTurn()
    order.push('mine')
    expect(order).toEqual(['other', 'mine'])
  })

  it('are one slice for all who work at length, however many', async () => {
    let nowMs = 0
    const clock = Object.assign(new ManualClock(), { monotonicMs: () => nowMs })
    const loopTurns: number[] = []
    let loopTurn = 0
    let isCounting = true
    const count = (): void => {
      loopTurn++
      if (isCounting) setImmediate(count)
    }
    setImmediate(count)
    const work = async (): Promise<void> => {
      const turns = new Turns(clock)
      await turns.next()
      loopTurns.push(loopTurn)
      await Promise.resolve()
      nowMs += TURN_MS / 2
    }
    await Promise.all(Array.from({ length: 6 }, work))
    isCounting = false
    expect(new Set(loopTurns).size).toBe(3)
  })

  it('come in the order in which they were asked for', async () => {
    const clock = new ManualClock()
    const order: number[] = []
    const work = async (name: number): Promise<void> => {
      const turns = new Turns(clock)
      await turns.next()
      order.push(name)
      await turns.next()
      order.push(name)
    }
    await Promise.all([1, 2, 3].map(work))
    expect(order).toEqual([1, 2, 3, 1, 2, 3])
  })
})

describe('what others set off', () => {
  it('waits only where this turn of the event loop is full', async () => {
    let nowMs = 0
    const clock = Object.assign(new ManualClock(), { monotonicMs: () => nowMs })
    await nextTurn()
    const turns = Array.from({ length: 4 }, () => {
      const turn = turnFor(clock)
      nowMs += TURN_MS / 2
      return turn
    })
    expect(turns.map((turn) => turn !== undefined)).toEqual([false, false, true, true])
    for (const turn of turns) await turn
    await nextTurn()
    expect(turnFor(clock)).toBeUndefined()
  })
})
