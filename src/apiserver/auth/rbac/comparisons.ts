/**
 * What it costs to hold rules against a request or against other rules. Whoever writes roles chooses how many there are and
 * how long their lists and texts are: every look is counted, others are served after so many, and there is an end.
 */

/** To write a role or a binding. A look at a value takes a moment: half a second at most, in slices. */
export const MAX_COMPARISONS = 5_000_000
/** To decide about one request, which is done in one go: bindings of its user and rules about the same resource. */
export const MAX_COMPARISONS_OF_REQUEST = 100_000

/** Some ten microseconds of work. */
const comparisonsPerStep = 1_000
/** So many characters of a text are looked at as quickly as one. */
const charactersPerComparisonBits = 8

export class TooManyComparisonsError extends Error {}

export class Comparisons {
  readonly #max: number
  #count = 0
  #endOfStep = comparisonsPerStep

  constructor(max: number) {
    this.#max = max
  }

  /** Throws a TooManyComparisonsError where that is more than there may be. */
  take(count: number): void {
    this.#count += count
    if (this.#count > this.#max) throw new TooManyComparisonsError(`more than ${this.#max} comparisons`)
  }

  /** For a look at one value. */
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
