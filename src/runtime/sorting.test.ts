import { describe, expect, it } from 'vitest'
import { sortedSteps } from './sorting.ts'
import { finished } from './steps.ts'

interface Entry {
  readonly key: number
  readonly index: number
}

const byKey = (a: Entry, b: Entry): number => a.key - b.key

/** Without chance: some thousand numbers in no order, many of them more than once. */
function entries(count: number): Entry[] {
  return Array.from({ length: count }, (_, index) => ({ key: (index * 7_919) % 1_009, index }))
}

describe('sorting in steps', () => {
  it.each([0, 1, 2, 511, 512, 513, 1_024, 5_000])(
    'sorts %i entries as arrays do, equal ones in their order',
    (count) => {
      expect(finished(sortedSteps(entries(count), byKey))).toEqual(entries(count).toSorted(byKey))
    },
  )

  it('leaves what it was given as it was', () => {
    const given = entries(2_000)
    finished(sortedSteps(given, byKey))
    expect(given).toEqual(entries(2_000))
  })

  it('stops often enough: no step compares more than a run takes', () => {
    let [compared, most] = [0, 0]
    const steps = sortedSteps(entries(5_000), (a, b) => {
      compared += 1
      return byKey(a, b)
    })
    for (let isDone = false; !isDone; most = Math.max(most, compared)) {
      compared = 0
      isDone = steps.next().done === true
    }
    expect(most).toBeLessThan(512 * 10)
  })
})
