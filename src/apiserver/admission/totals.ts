/**
 * Amounts that are added up, exactly, and printed only when somebody reads them: a pod may name thousands of resources, and
 * a namespace thousands of pods. A sum is printed in the family of suffixes of its first amount that is not zero, as the
 * API server does: texts in refusals depend on it.
 */
import { type Fields, struct } from '../kinds/fields.ts'
import { quantity, quantityInNano } from '../kinds/quantities.ts'
import { canonical, printInFamily } from './amounts.ts'

export class Total {
  /** As somebody wrote it, or the first part of the sum. */
  readonly #example: string
  #nano: bigint | undefined
  readonly #isSum: boolean

  private constructor(example: string, sumNano: bigint | undefined) {
    this.#example = example
    this.#nano = sumNano
    this.#isSum = sumNano !== undefined
  }

  static of(text: string): Total {
    return new Total(text, undefined)
  }

  get nano(): bigint {
    this.#nano ??= quantityInNano(this.#example)
    return this.#nano
  }

  get text(): string {
    return this.#isSum ? printInFamily(this.nano, this.#example) : canonical(this.#example)
  }

  plus(other: Total): Total {
    if (this.nano === 0n) return other
    if (other.nano === 0n) return this
    return new Total(this.#example, this.nano + other.nano)
  }

  /** The difference, or nothing where it would be less. */
  minus(other: Total): Total {
    if (other.nano === 0n) return this
    return this.nano <= other.nano ? NOTHING : new Total(this.#example, this.nano - other.nano)
  }

  times(count: number): Total {
    return count === 1 ? this : new Total(this.#example, this.nano * BigInt(count))
  }
}

export const NOTHING = Total.of('0')

/** By resource. */
export type Totals = ReadonlyMap<string, Total>

/** The amounts in a map of resources; of these alone, where some are named. */
export function totalsOf(parent: Fields | undefined, name: string, resources?: readonly string[]): Map<string, Total> {
  const map = struct(parent, name) ?? {}
  const totals = new Map<string, Total>()
  for (const resource of resources ?? Object.keys(map)) {
    if (Object.hasOwn(map, resource)) totals.set(resource, Total.of(quantity(map, resource) ?? '0'))
  }
  return totals
}

export function addTotal(sums: Map<string, Total>, name: string, total: Total): void {
  sums.set(name, sums.get(name)?.plus(total) ?? total)
}

export function addTotals(sums: Map<string, Total>, totals: Totals): void {
  for (const [name, total] of totals) addTotal(sums, name, total)
}

/** Keeps the larger of both. */
export function raiseTotal(most: Map<string, Total>, name: string, total: Total): void {
  const present = most.get(name)
  if (present === undefined || total.nano > present.nano) most.set(name, total)
}

export function raiseTotals(most: Map<string, Total>, totals: Totals): void {
  for (const [name, total] of totals) raiseTotal(most, name, total)
}

/** `cpu=1,pods=2`: in order of names. */
export function formatTotals(totals: Totals): string {
  return [...totals.keys()]
    .toSorted()
    .map((name) => `${name}=${totals.get(name)?.text ?? '0'}`)
    .join(',')
}
