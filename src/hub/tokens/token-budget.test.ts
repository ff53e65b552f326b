import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../telemetry/clock.ts'
import { TOKEN_BURST, TOKEN_INTERVAL_MS, TokenBudget } from './token-budget.ts'

function exhaust(budget: TokenBudget, node: string): void {
  for (let count = 0; count < TOKEN_BURST; count++) budget.take('default', node)
}

describe('TokenBudget', () => {
  it('stops a node that asks without end, and no other', async () => {
    const clock = new ManualClock()
    const budget = new TokenBudget(clock)
    exhaust(budget, 'edge-1')
    expect(() => budget.take('default', 'edge-1')).toThrow(
      expect.objectContaining({ code: 'too-many-requests', retryAfterSeconds: TOKEN_INTERVAL_MS / 1000 }),
    )
    budget.take('default', 'edge-2')
    budget.take('other', 'edge-1')
    await clock.advance(TOKEN_INTERVAL_MS)
    budget.take('default', 'edge-1')
    expect(() => budget.take('default', 'edge-1')).toThrow(expect.objectContaining({ code: 'too-many-requests' }))
  })

  it('forgets nodes whose budget is full again', async () => {
    const clock = new ManualClock()
    const budget = new TokenBudget(clock)
    for (let count = 0; count < 100; count++) budget.take('default', `edge-${count}`)
    await clock.advance(TOKEN_INTERVAL_MS)
    budget.take('default', 'edge-0')
    expect(budget.nodes).toBe(1)
  })
})
