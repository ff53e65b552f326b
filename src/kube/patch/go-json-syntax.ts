/**
 * Why Go's JSON decoder refuses a text. The built-in parser says so in words of its own; the answer to a client must
 * carry Go's. Called only for texts that were refused already, so it is written to be read, not to be fast.
 */
import { goQuote } from '../status/go-text.ts'

type Expectation = 'value' | 'first-item' | 'first-key' | 'key' | 'colon' | 'separator'

class SyntaxFailure extends Error {}

const endOfInput = 'unexpected end of JSON input'
const whiteSpace = /[ \t\r\n]/
const literals: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

/** The error text, or undefined for valid JSON. */
export function goJsonSyntaxError(json: Uint8Array): string | undefined {
  try {
    // Go looks at bytes and prints them as characters; Latin-1 is the text in which the two are the same.
    new Scanner(Buffer.from(json).toString('latin1')).scan()
    return undefined
  } catch (error) {
    if (error instanceof SyntaxFailure) return error.message
    throw error
  }
}

class Scanner {
  readonly #text: string
  #position = 0
  #expects: Expectation = 'value'
  readonly #open: ('{' | '[')[] = []

  constructor(text: string) {
    this.#text = text
  }

  scan(): void {
    for (;;) {
      while (whiteSpace.test(this.#text[this.#position] ?? '')) this.#position++
      const complete = this.#expects === 'separator' && this.#open.length === 0
      if (complete && this.#position === this.#text.length) return
      this.#step()
    }
  }

  #step(): void {
    switch (this.#expects) {
      case 'first-item':
        if (this.#peek() === ']') this.#close()
        else this.#value()
        return
      case 'value':
        this.#value()
        return
      case 'first-key':
        if (this.#peek() === '}') this.#close()
        else this.#key()
        return
      case 'key':
        this.#key()
        return
      case 'colon':
        this.#take(/:/, 'after object key')
        this.#expects = 'value'
        return
      case 'separator':
        this.#separator()
    }
  }

  #value(): void {
    const first = this.#peek()
    if (first === '{' || first === '[') {
      this.#open.push(first)
      this.#position++
      this.#expects = first === '{' ? 'first-key' : 'first-item'
      return
    }
    if (first === '"') this.#string()
    else if (/[-0-9]/.test(first)) this.#number()
    else this.#literal(first)
    this.#expects = 'separator'
  }

  #key(): void {
    if (this.#peek() !== '"') this.#fail('looking for beginning of object key string')
    this.#string()
    this.#expects = 'colon'
  }

  #separator(): void {
    const inside = this.#open.at(-1)
    if (inside === undefined) this.#fail('after top-level value')
    const closing = inside === '{' ? '}' : ']'
    if (this.#peek() === closing) {
      this.#close()
      return
    }
    this.#take(/,/, inside === '{' ? 'after object key:value pair' : 'after array element')
    this.#expects = inside === '{' ? 'key' : 'value'
  }

  #close(): void {
    this.#open.pop()
    this.#position++
    this.#expects = 'separator'
  }

  #string(): void {
    this.#position++
    for (let next = this.#peek(); next !== '"'; next = this.#peek()) {
      if (next < ' ') this.#fail('in string literal')
      this.#position++
      if (next === '\\') this.#escape()
    }
    this.#position++
  }

  #escape(): void {
    const kind = this.#take(/["\\/bfnrtu]/, 'in string escape code')
    if (kind !== 'u') return
    for (let digit = 0; digit < 4; digit++) this.#take(/[0-9a-fA-F]/, 'in \\u hexadecimal character escape')
  }

  #number(): void {
    if (this.#peek() === '-') this.#position++
    if (this.#take(/[0-9]/, 'in numeric literal') !== '0') this.#skip(/[0-9]/)
    if (this.#text[this.#position] === '.') {
      this.#position++
      this.#take(/[0-9]/, 'after decimal point in numeric literal')
      this.#skip(/[0-9]/)
    }
    if (/[eE]/.test(this.#text[this.#position] ?? '')) {
      this.#position++
      if (/[+-]/.test(this.#peek())) this.#position++
      this.#take(/[0-9]/, 'in exponent of numeric literal')
      this.#skip(/[0-9]/)
    }
  }

  #literal(first: string): void {
    const word = literals[first]
    if (word === undefined) this.#fail('looking for beginning of value')
    for (const letter of word) {
      if (this.#peek() !== letter) this.#fail(`in literal ${word} (expecting '${letter}')`)
      this.#position++
    }
  }

  #skip(allowed: RegExp): void {
    while (allowed.test(this.#text[this.#position] ?? '')) this.#position++
  }

  #take(allowed: RegExp, context: string): string {
    const next = this.#peek()
    if (!allowed.test(next)) this.#fail(context)
    this.#position++
    return next
  }

  #peek(): string {
    const next = this.#text[this.#position]
    if (next === undefined) throw new SyntaxFailure(endOfInput)
    return next
  }

  #fail(context: string): never {
    const character = this.#peek()
    const shown = character === "'" ? "\\'" : character === '"' ? '"' : goQuote(character).slice(1, -1)
    throw new SyntaxFailure(`invalid character '${shown}' ${context}`)
  }
}
