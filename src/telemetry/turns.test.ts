import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { nextTurn, TURN_MS, Turns } from './turns.ts'

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
})
