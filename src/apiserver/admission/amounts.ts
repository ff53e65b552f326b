/** Maps from resources to quantities, and quantities as the API server prints them. */
import { canonicalQuantity } from '../../kube/codec/quantity.ts'
import type { Fields } from '../kinds/fields.ts'
import { compareQuantities, quantities } from '../kinds/quantities.ts'

export type Amounts = Readonly<Record<string, string>>

const nanoPerUnit = 1_000_000_000n
const nanoPerMilli = 1_000_000n
const bytesPerKi = 1024n

export function amountsOf(parent: Fields | undefined, name: string): Record<string, string> {
  return Object.fromEntries(quantities(parent, name))
}

/** Rounded up to thousandths, which is as fine as limits are compared. */
export function inMilli(nano: bigint): bigint {
  const quotient = nano / nanoPerMilli
  return nano > 0n && nano % nanoPerMilli !== 0n ? quotient + 1n : quotient
}

export function canonical(quantity: string): string {
  return canonicalQuantity(quantity) ?? quantity
}

/** In the family of suffixes of the example. */
export function printInFamily(nano: bigint, example: string): string {
  const units = nano / nanoPerUnit
  const isBinary = example.endsWith('i') && nano % nanoPerUnit === 0n && (units >= bytesPerKi || units <= -bytesPerKi)
  if (!isBinary) return canonical(`${nano}n`)
  return units % bytesPerKi === 0n ? canonical(`${units / bytesPerKi}Ki`) : units.toString()
}

/** The same resources in the same amounts, however they are written. */
export function sameAmounts(left: Amounts, right: Amounts): boolean {
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every((name) => {
    const other = right[name]
    return other !== undefined && (other === left[name] || compareQuantities(left[name] ?? '0', other) === 0)
  })
}
