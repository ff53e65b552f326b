/**
 * JSON text as an API server reads and prints it. Plain JavaScript values are what the rest of the program works with;
 * this file keeps them exact where the built-in functions would not be: integers beyond 2^53, map keys that look like
 * numbers (JavaScript moves those to the front), and raw JSON that a plain value cannot repeat.
 */
import { WireError } from '../../protobuf/wire-error.ts'
import { ExactJsonParser, stringEnd } from './exact-json.ts'

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

/** Numbers that may not survive the built-in parser: many digits, or a large exponent. */
const doubtfulNumber = /[0-9]{16}|[0-9][eE]\+?[0-9]{3}/
/** Go's encoder writes these so that JSON can stand inside HTML. */
const escapedCharacters = /[<>&\u2028\u2029]/
const escapes = ['<', '>', '&', '\u2028', '\u2029'].map(
  (character) => [character, `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`] as const,
)

/** Parses JSON; integers that a number cannot hold become bigints. */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new WireError('bad-value', `not JSON: ${(error as Error).message}`, { cause: error })
  }
  return doubtfulNumber.test(text) && hasDoubtfulNumber(text) ? new ExactJsonParser(text).parse() : value
}

/** Outside strings, that is: many a name or digest holds as many digits, and is exact as it is. */
function hasDoubtfulNumber(text: string): boolean {
  let position = 0
  for (;;) {
    const string = text.indexOf('"', position)
    const tokens = text.slice(position, string === -1 ? text.length : string)
    if (tokens.length > 3 && doubtfulNumber.test(tokens)) return true
    if (string === -1) return false
    position = stringEnd(text, string)
  }
}

/** Compact JSON, with the escapes and the map order of an API server. */
export function printJson(value: unknown): string {
  const text = isPlain(value, 0) ? JSON.stringify(value) : printExactly(value, 0)
  if (!escapedCharacters.test(text)) return text
  // One pass for each character: a function called for each place takes far longer where there are many.
  return escapes.reduce((escaped, [character, sequence]) => escaped.replaceAll(character, sequence), text)
}

/**
 * A plain value where printing it gives the same text again, else the text itself: also where it is nested so deeply that
 * nothing of ours could walk it. Whatever an API server stored can be read.
 */
export function parseRawJson(text: string): unknown {
  if (nestingOf(text) > MAX_JSON_DEPTH) return new RawJson(compact(checked(text)))
  const value = parseJson(text)
  return isPlain(value, 0) && JSON.stringify(value) === text ? value : new RawJson(compact(text))
}

/** The built-in parser needs no stack, so it can judge text of any depth. */
function checked(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch (error) {
    throw new WireError('bad-value', `not JSON: ${(error as Error).message}`, { cause: error })
  }
}

/** Whether JSON.stringify prints the value exactly. JavaScript lists number-like keys first, so one look is enough. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return checkFinite(value)
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

function printExactly(value: unknown, depth: number): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') checkFinite(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  checkDepth(depth)
  if (Array.isArray(value)) return `[${value.map((item) => printExactly(item ?? null, depth + 1)).join(',')}]`
  if (value instanceof RawJson) return value.text
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  const firstKey = entries[0]?.[0]
  if (firstKey !== undefined && startsWithDigit(firstKey)) entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${printExactly(item, depth + 1)}`).join(',')}}`
}

/** How deeply lists and objects are nested, whatever the text is worth otherwise. */
function nestingOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (let position = 0; position < text.length; position++) {
    const character = text[position]
    if (character === '"') position = stringEnd(text, position) - 1
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth)
    else if (character === '}' || character === ']') depth--
  }
  return deepest
}

/** Removes the white space between tokens of valid JSON and nothing else. */
function compact(text: string): string {
  const pieces: string[] = []
  let position = 0
  while (position < text.length) {
    const string = text.indexOf('"', position)
    const tokensEnd = string === -1 ? text.length : string
    pieces.push(text.slice(position, tokensEnd).replaceAll(/[ \t\r\n]+/g, ''))
    position = string === -1 ? text.length : stringEnd(text, string)
    pieces.push(text.slice(tokensEnd, position))
  }
  return pieces.join('')
}

function checkFinite(value: number): true {
  if (!Number.isFinite(value)) throw new WireError('bad-value', `${value} has no form in JSON`)
  return true
}

function checkDepth(depth: number): void {
  if (depth > MAX_JSON_DEPTH) throw new WireError('too-deep', `JSON nested deeper than ${MAX_JSON_DEPTH}`)
}

/** The members of an object, whatever they hold. */
export type Fields = Record<string, unknown>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson)
}
