/**
 * A JSON parser for the documents that the built-in one would falsify: integers beyond 2^53 become bigints, and numbers
 * beyond all numbers are refused instead of becoming infinite. The text has passed the built-in parser, so only its
 * meaning is in question here, never its syntax.
 */
import { WireError } from '../protobuf/wire-error.ts'

const number = /-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/y
const quote = '"'

export class ExactJsonParser {
  readonly #text: string
  readonly #maxDepth: number
  #position = 0
  #depth = 0

  constructor(text: string, maxDepth: number) {
    this.#text = text
    this.#maxDepth = maxDepth
  }

  parse(): unknown {
    this.#skipSpace()
    switch (this.#text[this.#position]) {
      case '{':
        return this.#nested(() => this.#object())
      case '[':
        return this.#nested(() => this.#list())
      case quote:
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > this.#maxDepth) throw new WireError('too-deep', `JSON nested deeper than ${this.#maxDepth}`)
    this.#position++
    const value = read()
    this.#position++
    this.#depth--
    return value
  }

  #object(): Record<string, unknown> {
    const entries: [string, unknown][] = []
    while (!this.#isAt('}')) {
      const key = this.#string()
      this.#isAt(':')
      this.#position++
      entries.push([key, this.parse()])
      if (this.#isAt(',')) this.#position++
    }
    // As the built-in parser does: `__proto__` is a key like any other, and the last of two equal keys counts.
    return Object.fromEntries(entries)
  }

  #list(): unknown[] {
    const items: unknown[] = []
    while (!this.#isAt(']')) {
      items.push(this.parse())
      if (this.#isAt(',')) this.#position++
    }
    return items
  }

  #string(): string {
    this.#skipSpace()
    const start = this.#position
    const end = stringEnd(this.#text, start)
    this.#position = end
    return JSON.parse(this.#text.slice(start, end)) as string
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

  #isAt(character: string): boolean {
    this.#skipSpace()
    return this.#text[this.#position] === character
  }

  #skipSpace(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#position] ?? '')) this.#position++
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
