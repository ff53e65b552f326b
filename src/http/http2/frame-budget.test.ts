import { expect, it } from 'vitest'
import { FrameBudget } from './frame-budget.ts'
import { ErrorCode } from './wire.ts'

function budget() {
  const clock = { nowMs: 1_000 }
  return { clock, frames: new FrameBudget('pings', 3, 2, () => clock.nowMs) }
}

it('takes so many at once, and then no more', () => {
  const { frames } = budget()
  for (let count = 0; count < 3; count++) frames.spend()
  expect(() => frames.spend()).toThrow(expect.objectContaining({ code: ErrorCode.enhanceYourCalm }))
})

it('fills up with time, and never beyond what it takes at once', () => {
  const { frames, clock } = budget()
  for (let count = 0; count < 3; count++) frames.spend()
  clock.nowMs += 500
  frames.spend()
  clock.nowMs += 3_600_000
  for (let count = 0; count < 3; count++) frames.spend()
  expect(() => frames.spend()).toThrow('too many pings')
})
