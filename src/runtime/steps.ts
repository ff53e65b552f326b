/** Long work as a generator that stops after each step: done in one go, or in slices with turns for others in between. */
import type { Turns } from './turns.ts'

export type Steps<Result> = Generator<void, Result, void>

/** Does all steps, now. */
export function finished<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** As much as this turn has room for, and one step at least; undefined where that is not all. */
export function tried<Result>(steps: Steps<Result>, turns: Turns): { readonly result: Result } | undefined {
  do {
    const { done, value } = steps.next()
    if (done === true) return { result: value }
  } while (!turns.isOver)
  return undefined
}

export async function inTurns<Result>(steps: Steps<Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const all = tried(steps, turns)
    if (all !== undefined) return all.result
    await turns.next()
  }
}

/** At once where this turn has room for all of it: most work is short, and a promise for each would not be. */
export function nowOrInTurns(steps: Steps<void>, turns: Turns): Promise<void> | void {
  if (tried(steps, turns) === undefined) return inTurns(steps, turns)
}
