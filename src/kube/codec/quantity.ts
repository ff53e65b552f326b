/**
 * Resource quantities (`500m`, `1.5Gi`, `3e6`) and their canonical form: the same amount with the largest suffix that
 * leaves a whole number, in the family of suffixes in which it was written. An API server prints every quantity so.
 */

/** The whole grammar is short; anything longer is no quantity that a machine could have. */
export const maxQuantityCharacters = 128

/** Already canonical in nearly every object: a number of up to three digits and one suffix. */
const plainlyCanonical = /^(?:0|[1-9][0-9]{0,2}(?:n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)$/
const grammar = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,4})?$/

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const nanoPerUnit = 1_000_000_000n
/** Larger amounts are held down to this one, by API servers as well. */
const largestUnits = 2n ** 63n - 1n

/** The canonical form, or undefined when the text is no quantity. */
export function canonicalQuantity(text: string): string | undefined {
  if (plainlyCanonical.test(text)) return text
  if (text.length > maxQuantityCharacters) return undefined
  const match = grammar.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  const nano = amountInNano(whole, fraction, suffix)
  return nano === undefined ? undefined : format(sign === '-' ? -nano : nano, suffix)
}

function amountInNano(whole: string, fraction: string, suffix: string): bigint | undefined {
  const digits = BigInt(whole + fraction)
  const binary = binarySuffixes.indexOf(suffix)
  const exponent = 9 - fraction.length + (binary > 0 ? 0 : decimalExponent(suffix))
  if (Math.abs(exponent) > 10_000) return undefined
  const scaled = binary > 0 ? digits * 1024n ** BigInt(binary) : digits
  const nano = exponent >= 0 ? scaled * 10n ** BigInt(exponent) : divideRoundingUp(scaled, 10n ** BigInt(-exponent))
  const largest = largestUnits * nanoPerUnit
  if (nano > largest) return largest
  return nano
}

function decimalExponent(suffix: string): number {
  if (/^[eE]./.test(suffix)) return Number(suffix.slice(1))
  return (decimalSuffixes.indexOf(suffix) - 3) * 3
}

function divideRoundingUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function format(nano: bigint, suffix: string): string {
  if (nano === 0n) return '0'
  if (binarySuffixes.indexOf(suffix) > 0 && nano % nanoPerUnit === 0n) {
    const units = nano / nanoPerUnit
    if (units >= 1024n || units <= -1024n) return formatFactors(units, 1024n, binarySuffixes)
  }
  if (!/^[eE]./.test(suffix)) return formatFactors(nano, 1000n, decimalSuffixes)
  return formatFactors(
    nano,
    1000n,
    [-9, -6, -3, 0, 3, 6, 9, 12, 15, 18].map((power) => (power === 0 ? '' : `e${power}`)),
  )
}

function formatFactors(amount: bigint, factor: bigint, suffixes: readonly string[]): string {
  let index = 0
  while (index < suffixes.length - 1 && amount % factor === 0n) {
    amount /= factor
    index++
  }
  return `${amount}${suffixes[index]}`
}
