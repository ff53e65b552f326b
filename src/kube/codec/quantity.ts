/**
 * Resource quantities (`500m`, `1.5Gi`, `3e6`) and the form in which an API server prints them: the same amount with the
 * largest suffix that leaves a whole number, in the family of suffixes in which it was written. A text that looks
 * canonical to the API server's quick check is kept as it is, even where the thorough way would say it differently.
 */

/** Longer numbers mean no machine, and working them out has no bounds: where one is kept, it stays as it is. */
export const MAX_QUANTITY_CHARACTERS = 128
/** Powers of ten beyond this mean no machine either: where one is kept, it stays as it is. */
export const MAX_QUANTITY_EXPONENT = 100

/** Already canonical in nearly every object: a number of up to three digits and one suffix. */
const plainlyCanonical = /^(?:0|[1-9][0-9]{0,2}(?:n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi)?)$/
const grammar = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$/
const exponentSuffix = /^[eE][+-]?[0-9]/

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const nanoPerUnit = 1_000_000_000n
/** Amounts with a binary suffix are held down to this one, by API servers as well. */
const largestUnits = 2n ** 63n - 1n

/** The canonical form, or undefined when the text is no quantity. */
export function canonicalQuantity(text: string): string | undefined {
  if (plainlyCanonical.test(text)) return text
  const match = grammar.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  if (text.length > MAX_QUANTITY_CHARACTERS || looksCanonical(whole, fraction, suffix)) return text
  const nano = amountInNano(whole, fraction, suffix)
  return nano === undefined ? text : format(sign === '-' ? -nano : nano, suffix)
}

/** Whether the amount can be worked out in next to no time: an API server takes no others. */
export function isWorkableQuantity(text: string): boolean {
  if (text.length > MAX_QUANTITY_CHARACTERS) return false
  const exponent = /[eE]([+-]?[0-9]+)$/.exec(text)?.[1] ?? '0'
  return Math.abs(Number(exponent)) <= MAX_QUANTITY_EXPONENT
}

/** The quick check of an API server. The numbers are the digits that its 64-bit arithmetic is sure to hold. */
function looksCanonical(whole: string, fraction: string, suffix: string): boolean {
  const digits = whole.replace(/^0+/, '') || '0'
  const binary = binarySuffixes.indexOf(suffix)
  if (binary > 0) {
    return fraction === '' && digits.length + 3 * binary + 1 <= 15 && BigInt(digits) % 8n !== 0n
  }
  const scale = decimalExponent(suffix) - fraction.length
  const shifted = digits + fraction
  return shifted.length <= 18 && scale >= -9 && scale % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0')
}

/** undefined where the number is too large to be worked out. */
function amountInNano(whole: string, fraction: string, suffix: string): bigint | undefined {
  const digits = BigInt(whole + fraction)
  const binary = binarySuffixes.indexOf(suffix)
  const exponent = 9 - fraction.length + (binary > 0 ? 0 : decimalExponent(suffix))
  if (Math.abs(exponent) > MAX_QUANTITY_EXPONENT) return undefined
  const scaled = binary > 0 ? digits * 1024n ** BigInt(binary) : digits
  const nano = exponent >= 0 ? scaled * 10n ** BigInt(exponent) : divideRoundingUp(scaled, 10n ** BigInt(-exponent))
  const largest = largestUnits * nanoPerUnit
  return binary > 0 && nano > largest ? largest : nano
}

function decimalExponent(suffix: string): number {
  if (exponentSuffix.test(suffix)) return Number(suffix.slice(1))
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
  if (!exponentSuffix.test(suffix)) return formatFactors(nano, 1000n, decimalSuffixes)
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
