import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { ROTATED_KEY_GRACE_MS, SESSION_DRAIN_MS } from '../sessions/session-limits.ts'
import { AGENT_RECHECK_MS, AgentRechecks } from './agent-rechecks.ts'
import type { AgentRoute } from './agent-route.ts'

function world() {
  const clock = new ManualClock()
  const identity = { isDoubtful: () => true, isSuperseded: vi.fn(() => true), recheck: vi.fn(async () => {}) }
  const route = { identity, drain: vi.fn(), end: vi.fn() }
  const rechecks = new AgentRechecks(
    clock,
    () => [route as unknown as AgentRoute],
    (action) => void action(),
  )
  rechecks.schedule()
  return { clock, identity, route }
}

it('gives an agent whose key was rotated a while, then drains it, and ends it when that has taken too long', async () => {
  const { clock, identity, route } = world()
  await clock.advance(ROTATED_KEY_GRACE_MS)
  expect([route.drain.mock.calls, route.end.mock.calls]).toEqual([[], []])
  await clock.advance(AGENT_RECHECK_MS)
  expect(route.drain).toHaveBeenLastCalledWith('rotated')
  await clock.advance(SESSION_DRAIN_MS - AGENT_RECHECK_MS)
  expect(route.end).not.toHaveBeenCalled()
  await clock.advance(AGENT_RECHECK_MS)
  expect(route.end).toHaveBeenLastCalledWith('rotated')
  expect(identity.recheck).not.toHaveBeenCalled()
})

it('counts the while anew where the news of the rotation was old', async () => {
  const { clock, identity, route } = world()
  await clock.advance(ROTATED_KEY_GRACE_MS)
  identity.isSuperseded.mockReturnValue(false)
  await clock.advance(AGENT_RECHECK_MS)
  expect(identity.recheck).toHaveBeenCalledTimes(1)
  identity.isSuperseded.mockReturnValue(true)
  await clock.advance(ROTATED_KEY_GRACE_MS)
  expect(route.drain).not.toHaveBeenCalled()
})
