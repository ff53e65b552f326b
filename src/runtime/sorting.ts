/** Sorting in steps: runs are sorted each by itself, then joined two by two. Stable, as the sort of arrays is. */
import type { Steps } from './steps.ts'

/** Entries that are sorted or joined in one step: some tenths of a millisecond. */
const ENTRIES_IN_A_STEP = 512

type Compare<T> = (a: T, b: T) => number

export function* sortedSteps<T>(entries: readonly T[], compare: Compare<T>): Steps<readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let from = 0; from < entries.length; from += ENTRIES_IN_A_STEP) {
    runs.push(entries.slice(from, from + ENTRIES_IN_A_STEP).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const joined: (readonly T[])[] = []
    for (let index = 0; index < runs.length; index += 2)
      joined.push(yield* joinedSteps(runs[index] ?? [], runs[index + 1] ?? [], compare))
    runs = joined
  }
  return runs[0] ?? []
}

function* joinedSteps<T>(left: readonly T[], right: readonly T[], compare: Compare<T>): Steps<readonly T[]> {
  const [last, first] = [left.at(-1), right[0]]
  // Most of what is sorted comes in order.
  if (last === undefined || first === undefined || compare(last, first) <= 0) return left.concat(right)
  const joined: T[] = []
  let [leftAt, rightAt] = [0, 0]
  while (leftAt < left.length && rightAt < right.length) {
    const [one, other] = [left[leftAt] as T, right[rightAt] as T]
    if (compare(one, other) <= 0) {
      joined.push(one)
      leftAt += 1
    } else {
      joined.push(other)
      rightAt += 1
    }
    if (joined.length % ENTRIES_IN_A_STEP === 0) yield
  }
  return joined.concat(left.slice(leftAt), right.slice(rightAt))
}
