import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { DENIAL_MEMORY_MS, KnownAnswers, MAX_REMEMBERED_DENIALS } from './known-answers.ts'

describe('what edges have said', () => {
  it('is held against them for a while, and not any more when they say another thing', async () => {
    const clock = new ManualClock()
    const answers = new KnownAnswers(clock)
    answers.admitted('a:1', 'edge-1')
    answers.denied('a:1', 'edge-2')
    const now = () => [answers.admittedBy('a:1'), ...['edge-1', 'edge-2'].map((node) => answers.isDenied('a:1', node))]
    expect(now()).toEqual(['edge-1', false, true])
    expect(answers.isDenied('b:1', 'edge-2')).toBe(false)
    answers.denied('a:1', 'edge-1')
    answers.admitted('a:1', 'edge-2')
    expect(now()).toEqual(['edge-2', true, false])
    await clock.advance(DENIAL_MEMORY_MS)
    expect(now()).toEqual(['edge-2', false, false])
  })

  it('is bounded, and the destination is forgotten that nobody asked for the longest', () => {
    const answers = new KnownAnswers(new ManualClock())
    const half = MAX_REMEMBERED_DENIALS / 2
    for (const address of ['old:1', 'new:1'])
      for (let index = 0; index < half; index++) answers.denied(address, `x-${index}`)
    const known = () => ['old:1', 'new:1', 'one:1'].map((address) => answers.isDenied(address, 'x-0'))
    answers.denied('old:1', 'x-0')
    expect(known()).toEqual([true, true, false])
    answers.denied('one:1', 'x-0')
    expect(known()).toEqual([true, false, true])
  })
})
