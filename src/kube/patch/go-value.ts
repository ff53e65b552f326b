/**
 * JSON values in the words of Go's `fmt` package. The texts of the API server quote pieces of a patch that way, and
 * users search for these texts.
 */
import { isJsonObject, type JsonObject, plainValue } from './json-value.ts'

const maxInt64 = 2n ** 63n - 1n
const minInt64 = -(2n ** 63n)
/** From this exponent on Go prints a float as `1e+06`, below the other as `1e-05`. */
const largeExponent = 6
const smallExponent = -4

/** What `%v` makes of a value: `map[name:c ports:[80 81]]`, keys sorted. */
export function goPrint(value: unknown): string {
  const plain = plainValue(value)
  if (plain === null || plain === undefined) return '<nil>'
  if (Array.isArray(plain)) return `[${plain.map(goPrint).join(' ')}]`
  if (isJsonObject(plain))
    return `map[${sortedKeys(plain)
      .map((key) => `${key}:${goPrint(plain[key])}`)
      .join(' ')}]`
  if (typeof plain === 'number' || typeof plain === 'bigint') return goNumber(plain)
  return typeof plain === 'string' ? plain : JSON.stringify(plain)
}

/** What `%s` makes of a value: strings as they are, everything else marked as no string. */
export function goPrintString(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null ? '%!s(<nil>)' : `%!s(${goTypeName(value)}=${goPrint(value)})`
}

/** The Go type that the API server reads a JSON value into. */
export function goTypeName(value: unknown): string {
  const plain = plainValue(value)
  if (plain === null || plain === undefined) return '%!s(<nil>)'
  if (Array.isArray(plain)) return '[]interface {}'
  if (isJsonObject(plain)) return 'map[string]interface {}'
  if (typeof plain === 'boolean') return 'bool'
  return typeof plain === 'string' ? 'string' : goNumberType(plain as number | bigint)
}

/** The word by which Go's JSON decoder names a value that it did not expect. */
export function goJsonWord(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (isJsonObject(value)) return 'object'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'number'
}

function goNumberType(value: number | bigint): 'int64' | 'float64' {
  if (typeof value === 'bigint') return value >= minInt64 && value <= maxInt64 ? 'int64' : 'float64'
  return Number.isSafeInteger(value) ? 'int64' : 'float64'
}

function goNumber(value: number | bigint): string {
  return goNumberType(value) === 'int64' ? value.toString() : goFloat(Number(value))
}

function goFloat(value: number): string {
  const [digits = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent >= smallExponent && exponent < largeExponent) return value.toString()
  const sign = exponent < 0 ? '-' : '+'
  return `${digits}e${sign}${Math.abs(exponent).toString().padStart(2, '0')}`
}

/** Go sorts by the bytes of UTF-8. */
function sortedKeys(object: JsonObject): string[] {
  return Object.keys(object).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}
