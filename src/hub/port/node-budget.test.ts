import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { NodeBudget } from './node-budget.ts'

const limits = { what: 'certificates', burst: 20, intervalMs: 10_000, maxInFlight: 4 }

const tooMany = expect.objectContaining({ code: 'too-many-requests', status: 429 })

function exhaust(budget: NodeBudget, node: string): void {
  for (let count = 0; count < limits.burst; count++) budget.enter('default', node)()
}

describe('NodeBudget', () => {
  it('stops a node that asks without end, and no other', async () => {
    const clock = new ManualClock()
    const budget = new NodeBudget(clock, limits)
    exhaust(budget, 'edge-1')
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
    expect(() => budget.enter('default', 'edge-1')).toThrow(expect.objectContaining({ retryAfterSeconds: 10 }))
    budget.enter('default', 'edge-2')()
    budget.enter('other', 'edge-1')()
    await clock.advance(limits.intervalMs)
    budget.enter('default', 'edge-1')()
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
  })

  it('lets a node have a few under way at a time, each counted once', () => {
    const budget = new NodeBudget(new ManualClock(), limits)
    const leave = Array.from({ length: limits.maxInFlight }, () => budget.enter('default', 'edge-1'))
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
    leave[0]?.()
    leave[0]?.()
    budget.enter('default', 'edge-1')
    expect(() => budget.enter('default', 'edge-1')).toThrow(tooMany)
  })

  it('forgets nodes whose budget is full again', async () => {
    const clock = new ManualClock()
    const budget = new NodeBudget(clock, limits)
    for (let count = 0; count < 100; count++) budget.enter('default', `edge-${count}`)()
    await clock.advance(limits.intervalMs)
    budget.enter('default', 'edge-0')()
    expect(budget.nodes).toBe(1)
  })
})
