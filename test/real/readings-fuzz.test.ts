/**
 * Random requests, put to the real kube-apiserver and to ours: both must let the same callers do the same, and show the same. The
 * long run takes new seeds and many more; a failure is shown as the smallest request that still differs.
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeReal } from './harness.ts'
import { isRead, isWrite, requests } from './readings-grammar.ts'
import { KNOWN_OF_RANDOM } from './readings-known.ts'
import { restore, SIGHT, startReadings } from './readings-world.ts'
import { describeDifference, type Outcome, outcomeOf } from './twin-answers.ts'
import type { Asked, Twins } from './twins.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const readBatches = isLong ? 2_000 : 120
const readsAtOnce = 24
const writes = isLong ? 10_000 : 600

describeReal('random requests', () => {
  let twins: Twins

  beforeAll(async () => {
    twins = await startReadings()
  })

  afterAll(() => twins?.stop())

  /** What differs, and may not. */
  function verdict(asked: Asked, { shown, isSame }: Outcome): string[] {
    if (isSame || KNOWN_OF_RANDOM.some((known) => known.matches(asked, shown))) return []
    return [describeDifference(asked, shown)]
  }

  it('are read alike', async () => {
    const batch = fc.array(requests.filter(isRead), { minLength: 1, maxLength: readsAtOnce, size: 'max' })
    await fc.assert(
      fc.asyncProperty(batch, async (asked) => {
        const outcomes = await Promise.all(asked.map((each) => outcomeOf(twins, each, SIGHT)))
        expect(outcomes.flatMap((outcome, index) => verdict(asked[index] as Asked, outcome)).join('\n')).toBe('')
      }),
      { numRuns: readBatches },
    )
  })

  it('are carried out alike', async () => {
    await fc.assert(
      fc.asyncProperty(requests.filter(isWrite), async (asked) => {
        const outcome = await outcomeOf(twins, asked, SIGHT)
        if (Object.values(outcome.shown).some(({ status }) => status < 300)) await restore(twins)
        expect(verdict(asked, outcome).join('\n')).toBe('')
      }),
      { numRuns: writes },
    )
  })
})
