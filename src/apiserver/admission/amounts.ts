/**
 * Arithmetic with maps from resources to quantities. A sum is printed in the family of suffixes of its first amount that is
 * not zero, as the API server does: texts in refusals depend on it.
 */
import { canonicalQuantity } from '../../kube/codec/quantity.ts'
import type { Fields } from '../kinds/fields.ts'
import { compareQuantities, quantities, quantityInNano } from '../kinds/quantities.ts'

export type Amounts = Readonly<Record<string, string>>

const nanoPerUnit = 1_000_000_000n
const nanoPerMilli = 1_000_000n
const bytesPerKi = 1024n

export function amountsOf(parent: Fields | undefined, name: string): Record<string, string> {
  return Object.fromEntries(quantities(parent, name))
}

export function addQuantities(left: string, right: string): string {
  if (isZero(left)) return canonical(right)
  if (isZero(right)) return canonical(left)
  return printInFamily(quantityInNano(left) + quantityInNano(right), left)
}

/** The difference, or zero where it would be less. */
function subtractQuantities(left: string, right: string): string {
  const nano = quantityInNano(left) - quantityInNano(right)
  return nano <= 0n ? '0' : printInFamily(nano, left)
}

/** Rounded up to thousandths, which is as fine as limits are compared. */
export function quantityInMilli(quantity: string): bigint {
  const nano = quantityInNano(quantity)
  const quotient = nano / nanoPerMilli
  return nano > 0n && nano % nanoPerMilli !== 0n ? quotient + 1n : quotient
}

export function canonical(quantity: string): string {
  return canonicalQuantity(quantity) ?? quantity
}

export function isZero(quantity: string): boolean {
  return quantityInNano(quantity) === 0n
}

function printInFamily(nano: bigint, example: string): string {
  const units = nano / nanoPerUnit
  const isBinary = example.endsWith('i') && nano % nanoPerUnit === 0n && (units >= bytesPerKi || units <= -bytesPerKi)
  if (!isBinary) return canonical(`${nano}n`)
  return units % bytesPerKi === 0n ? canonical(`${units / bytesPerKi}Ki`) : units.toString()
}

export function addAmounts(left: Amounts, right: Amounts): Record<string, string> {
  const sum: Record<string, string> = { ...left }
  for (const [name, amount] of Object.entries(right)) sum[name] = addQuantities(sum[name] ?? '0', amount)
  return sum
}

/** The larger amount of each resource that either has. */
export function maxAmounts(left: Amounts, right: Amounts): Record<string, string> {
  const most: Record<string, string> = { ...left }
  for (const [name, amount] of Object.entries(right)) {
    const other = most[name]
    if (other === undefined || compareQuantities(amount, other) > 0) most[name] = amount
  }
  return most
}

/** The same resources in the same amounts, however they are written. */
export function sameAmounts(left: Amounts, right: Amounts): boolean {
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every((name) => {
    const other = right[name]
    return other !== undefined && compareQuantities(left[name] ?? '0', other) === 0
  })
}

/** What `left` has more than `right`. */
export function growth(left: Amounts, right: Amounts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(left).map(([name, amount]) => [name, subtractQuantities(amount, right[name] ?? '0')]),
  )
}

export function maskAmounts(amounts: Amounts, names: readonly string[]): Record<string, string> {
  const kept = new Set(names)
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => kept.has(name)))
}

export function withoutZeros(amounts: Amounts): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => !isZero(amount)))
}

/** `cpu=1,pods=2`: in order of names. */
export function formatAmounts(amounts: Amounts): string {
  return Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${canonical(amounts[name] ?? '0')}`)
    .join(',')
}
