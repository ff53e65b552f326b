/**
 * What it costs to hold rules against a request or against other rules. Whoever writes roles chooses how many there are and
 * how long their lists and texts are: every look is counted, others are served after so many, and there is an end.
 */

/** Comparisons to check the write of a role or a binding: half a second of work at most, in slices. */
export const MAX_COMPARISONS = 5_000_000
/** Comparisons to decide about one request, which is done in one go: bindings of its user, rules about its resource. */
export const MAX_COMPARISONS_OF_REQUEST = 100_000

/** After so many comparisons, some ten microseconds of work, others may have their turn. */
const comparisonsPerStep = 1_000
/** A comparison takes in 2^8 characters of a text: so many are looked at as quickly as one. */
const charactersPerComparisonBits = 8

export class TooManyComparisonsError extends Error {}

/** Counts what it costs to hold rules against something, and ends what costs too much. */
export class Comparisons {
  readonly #max: number
  #count = 0
  #endOfStep = comparisonsPerStep

  constructor(max: number) {
    this.#max = max
  }

  /** Counts comparisons; throws a TooManyComparisonsError when there are more than `max` in all. */
  take(count: number): void {
    this.#count += count
    if (this.#count > this.#max) throw new TooManyComparisonsError(`more than ${this.#max} comparisons`)
  }

  /** Counts a look at one value, which takes longer for a longer text. */
  takeFor(value: string): void {
    this.take(1 + (value.length >>> charactersPerComparisonBits))
  }

  /** True once in a while: the next step begins. */
  get isStepOver(): boolean {
    if (this.#count < this.#endOfStep) return false
    this.#endOfStep = this.#count + comparisonsPerStep
    return true
  }
}
