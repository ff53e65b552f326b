/**
 * Go's way of printing values. The API server's messages are made with Go's `%q` and `encoding/json`, and clients
 * compare and show these messages, so ours must come out the same, character for character.
 */
import { printJson } from '../codec/json.ts'

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

const shortEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
}

/** What `%q` makes of a string. */
export function goQuote(text: string): string {
  let quoted = ''
  for (const character of text) quoted += quoteCharacter(character)
  return `"${quoted}"`
}

function quoteCharacter(character: string): string {
  const short = shortEscapes[character]
  if (short !== undefined) return short
  if (printable.test(character)) return character
  const codePoint = character.codePointAt(0) ?? 0
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return '\uFFFD'
  if (codePoint < 0x20 || codePoint === 0x7f) return `\\x${hex(codePoint, 2)}`
  return codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

/** What `json.Marshal` makes of a value; integers of any size, with the characters that matter to HTML escaped. */
export function goJson(value: unknown): string {
  return value === undefined ? 'null' : printJson(value)
}
