import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../telemetry/clock.ts'
import { MAX_SIGNINGS_PER_NODE, SIGNING_BURST, SIGNING_INTERVAL_MS, SigningBudget } from './signing-budget.ts'

const tooMany = expect.objectContaining({ code: 'too-many-requests', status: 429 })

function exhaust(budget: SigningBudget, node: string): void {
  for (let count = 0; count < SIGNING_BURST; count++) budget.enter('default', node)()
}

describe('SigningBudget', () => {
  it('stops a node that asks without end, and no other', async () => {
    const clock = new ManualClock()
    const budget = new SigningBudget(clock)
    exhaust(budget, 'edge-1')
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
    expect(() => budget.enter('default', 'edge-1')).toThrow(expect.objectContaining({ retryAfterSeconds: 10 }))
    budget.enter('default', 'edge-2')()
    budget.enter('other', 'edge-1')()
    await clock.advance(SIGNING_INTERVAL_MS)
    budget.enter('default', 'edge-1')()
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
  })

  it('lets a node have a few under way at a time, each counted once', () => {
    const budget = new SigningBudget(new ManualClock())
    const leave = Array.from({ length: MAX_SIGNINGS_PER_NODE }, () => budget.enter('default', 'edge-1'))
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
    leave[0]?.()
    leave[0]?.()
    budget.enter('default', 'edge-1')
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
  })

  it('forgets nodes whose budget is full again', async () => {
    const clock = new ManualClock()
    const budget = new SigningBudget(clock)
    for (let count = 0; count < 100; count++) budget.enter('default', `edge-${count}`)()
    await clock.advance(SIGNING_INTERVAL_MS)
    budget.enter('default', 'edge-0')()
    expect(budget.nodes).toBe(1)
  })
})
