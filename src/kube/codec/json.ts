/**
 * JSON text as an API server reads and prints it. Plain JavaScript values are what the rest of the program works with;
 * this file keeps them exact where the built-in functions would not be: integers beyond 2^53, map keys that look like
 * numbers (JavaScript moves those to the front), and raw JSON that a plain value cannot repeat.
 */
import { WireError } from '../protobuf/wire-error.ts'

/** Deeper nesting is refused when printing, so that no document can exhaust the stack. */
export const MAX_JSON_DEPTH = 1_000

/** JSON text that would read differently after a trip through a plain value. Printed as it is. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The nearest plain value, for code that only looks. */
  get value(): unknown {
    return JSON.parse(this.text)
  }
}

const longDigits = /[0-9]{16}/
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g
/** Go's encoder writes these so that JSON can stand inside HTML. */
const escapedCharacters = /[<>&\u2028\u2029]/g

/** Parses JSON; integers that a number cannot hold become bigints. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return longDigits.test(text) ? parseExactly(text) : value
  } catch (error) {
    if (error instanceof WireError) throw error
    throw new WireError('bad-value', `not JSON: ${(error as Error).message}`, { cause: error })
  }
}

/** Compact JSON, with the escapes and the map order of an API server. */
export function printJson(value: unknown): string {
  const text = isPlain(value, 0) ? JSON.stringify(value) : printExactly(value)
  return escapeLikeGo(text)
}

/** A plain value where printing it gives the same text again, else the text itself. */
export function parseRawJson(text: string): unknown {
  const value = parseJson(text)
  return isPlain(value, 0) && JSON.stringify(value) === text ? value : new RawJson(compact(text))
}

function escapeLikeGo(text: string): string {
  return text.replace(escapedCharacters, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Marks integers that would lose digits before the built-in parser sees them; the text is known to be valid. */
function parseExactly(text: string): unknown {
  let marker = 'bigint:'
  while (text.includes(marker)) marker = `_${marker}`
  const marked = text.replace(stringOrNumber, (token) => (isLossy(token) ? `"${marker}${token}"` : token))
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker) ? BigInt(value.slice(marker.length)) : value,
  )
}

function isLossy(token: string): boolean {
  return /^-?[0-9]+$/.test(token) && !Number.isSafeInteger(Number(token))
}

/** Whether JSON.stringify prints the value exactly. JavaScript lists number-like keys first, so one look is enough. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'bigint') return false
  if (typeof value !== 'object' || value === null) return true
  checkDepth(depth)
  if (Array.isArray(value)) {
    for (const item of value) if (!isPlain(item, depth + 1)) return false
    return true
  }
  if (value instanceof RawJson) return false
  let first = true
  for (const key in value) {
    if (first && startsWithDigit(key)) return false
    first = false
    if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false
  }
  return true
}

function startsWithDigit(key: string): boolean {
  const code = key.charCodeAt(0)
  return code >= 48 && code <= 57
}

function printExactly(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => printExactly(item ?? null)).join(',')}]`
  if (value instanceof RawJson) return value.text
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  const firstKey = entries[0]?.[0]
  if (firstKey !== undefined && startsWithDigit(firstKey)) entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${printExactly(item)}`).join(',')}}`
}

/** Removes the white space between tokens of valid JSON and nothing else. */
function compact(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_all, string: string | undefined) => string ?? '')
}

function checkDepth(depth: number): void {
  if (depth > MAX_JSON_DEPTH) throw new WireError('too-deep', `JSON nested deeper than ${MAX_JSON_DEPTH}`)
}
