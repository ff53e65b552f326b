/**
 * A JSON parser for the documents that the built-in one would falsify: integers beyond 2^53 become bigints, and numbers
 * beyond all numbers are refused instead of becoming infinite. The text has passed the built-in parser, so only its
 * meaning is in question here, never its syntax.
 */
import { WireError } from '../../protobuf/wire-error.ts'

const number = /-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/y
const space = /[ \t\r\n]*/y
const quote = '"'

/** A list or an object that is not closed yet; `key` is where the next value of an object goes. */
interface Open {
  readonly container: unknown[] | Map<string, unknown>
  key: string
}

/** Works without recursion: however deeply the text is nested, it can be read. */
export class ExactJsonParser {
  readonly #text: string
  readonly #open: Open[] = []
  #position = 0
  #result: unknown

  constructor(text: string) {
    this.#text = text
  }

  parse(): unknown {
    this.#skipSpace()
    while (this.#position < this.#text.length) {
      this.#step(this.#text[this.#position] as string)
      this.#skipSpace()
    }
    return this.#result
  }

  #step(character: string): void {
    const inside = this.#open.at(-1)
    if (character === '{') this.#begin(new Map())
    else if (character === '[') this.#begin([])
    else if (character === '}' || character === ']') this.#end()
    else if (character === ',' || character === ':') this.#position++
    else if (character === quote && inside?.container instanceof Map && this.#isKey()) inside.key = this.#string()
    else this.#add(this.#scalar(character))
  }

  #begin(container: Open['container']): void {
    this.#position++
    this.#open.push({ container, key: '' })
  }

  #end(): void {
    this.#position++
    const container = this.#open.pop()?.container
    // As the built-in parser has it: `__proto__` is a key like any other, and the last of two equal keys counts.
    this.#add(container instanceof Map ? Object.fromEntries(container) : container)
  }

  #add(value: unknown): void {
    const inside = this.#open.at(-1)
    if (inside === undefined) this.#result = value
    else if (inside.container instanceof Map) inside.container.set(inside.key, value)
    else inside.container.push(value)
  }

  /** A string in an object is a key if a colon follows. */
  #isKey(): boolean {
    space.lastIndex = stringEnd(this.#text, this.#position)
    space.test(this.#text)
    return this.#text[space.lastIndex] === ':'
  }

  #scalar(character: string): unknown {
    if (character === quote) return this.#string()
    if (character === 't') return this.#word('true', true)
    if (character === 'f') return this.#word('false', false)
    return character === 'n' ? this.#word('null', null) : this.#number()
  }

  #string(): string {
    const start = this.#position
    this.#position = stringEnd(this.#text, start)
    return JSON.parse(this.#text.slice(start, this.#position)) as string
  }

  #number(): number | bigint {
    number.lastIndex = this.#position
    const [text = '', fraction, exponent] = number.exec(this.#text) ?? []
    this.#position += text.length
    const value = Number(text)
    if (fraction === undefined && exponent === undefined && !Number.isSafeInteger(value)) return BigInt(text)
    if (!Number.isFinite(value)) throw new WireError('bad-value', `the number ${text.slice(0, 32)} is too large`)
    return value
  }

  #word<T>(word: string, value: T): T {
    this.#position += word.length
    return value
  }

  #skipSpace(): void {
    space.lastIndex = this.#position
    space.test(this.#text)
    this.#position = space.lastIndex
  }
}

/** The position after the closing quote of the string that starts at `start`. */
export function stringEnd(text: string, start: number): number {
  let end = text.indexOf(quote, start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf(quote, end + 1)
  return end === -1 ? text.length : end + 1
}

/** Whether an odd number of backslashes stands before a position. */
function isEscaped(text: string, position: number): boolean {
  let backslashes = 0
  while (text[position - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}
