/**
 * Finds its way through JSON bytes without making values of them. Members and items are pulled one by one:
 *
 *     for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
 *       if (scanner.keyIs(name)) ...
 *       scanner.skipValue()
 *     }
 *
 * The objects and lists that are pulled through are checked strictly, a value that is skipped hardly at all.
 */

import type { WireError } from '../../protobuf/wire-error.ts'
import { parseJson } from '../codec/json.ts'
import { spaceEnd, stringEnd, truncated, unexpected, valueEnd } from './json-skip.ts'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

export class JsonScanner {
  readonly bytes: Buffer
  /** The next byte to look at. */
  pos: number
  /** Where the key of the present member starts. */
  keyStart = 0
  #keyEnd = 0
  #keyIsVerbatim = false
  readonly #end: number

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes
    this.pos = start
    this.#end = end
  }

  get isAtObject(): boolean {
    return this.#peek() === openBrace
  }

  get isAtList(): boolean {
    return this.#peek() === openBracket
  }

  /** Enters an object and stops at its first value. False, and behind the object, if it is empty. */
  firstMember(): boolean {
    return this.#enter(openBrace, closeBrace, 'an object') && this.#member()
  }

  /** From the end of a value to the next value; false, and behind the object, after the last one. */
  nextMember(): boolean {
    return this.#next(closeBrace, '"," or "}"') && this.#member()
  }

  /** As `firstMember`, for lists. */
  firstItem(): boolean {
    return this.#enter(openBracket, closeBracket, 'a list')
  }

  nextItem(): boolean {
    return this.#next(closeBracket, '"," or "]"')
  }

  /** Whether the present key is this one, however it is escaped. */
  keyIs(name: Buffer): boolean {
    const { bytes, keyStart } = this
    if (!this.#keyIsVerbatim) return this.#parse(keyStart, this.#keyEnd) === name.toString()
    if (name.length !== this.#keyEnd - keyStart - 2) return false
    for (let index = 0; index < name.length; index++) {
      if (bytes[keyStart + 1 + index] !== name[index]) return false
    }
    return true
  }

  /** Steps over one value of any kind. */
  skipValue(): void {
    this.#peek()
    this.pos = valueEnd(this.bytes, this.pos, this.#end)
  }

  /** Steps over one value and returns it. */
  readValue(): unknown {
    this.#peek()
    const start = this.pos
    this.skipValue()
    return this.#parse(start, this.pos)
  }

  /** Fails if anything but white space follows. */
  expectEnd(): void {
    this.pos = spaceEnd(this.bytes, this.pos, this.#end)
    if (this.pos < this.#end) throw this.#unexpected('the end')
  }

  /** Moves over white space to the next token and returns its first byte. */
  #peek(): number {
    this.pos = spaceEnd(this.bytes, this.pos, this.#end)
    if (this.pos >= this.#end) throw truncated()
    return this.bytes[this.pos] as number
  }

  #enter(opener: number, closer: number, expected: string): boolean {
    if (this.#peek() !== opener) throw this.#unexpected(expected)
    this.pos++
    if (this.#peek() !== closer) return true
    this.pos++
    return false
  }

  #next(closer: number, expected: string): boolean {
    const byte = this.#peek()
    if (byte !== comma && byte !== closer) throw this.#unexpected(expected)
    this.pos++
    if (byte === comma) this.#peek()
    return byte === comma
  }

  #member(): true {
    if (this.#peek() !== quote) throw this.#unexpected('a key')
    this.keyStart = this.pos
    this.#keyEnd = stringEnd(this.bytes, this.pos, this.#end)
    this.#keyIsVerbatim = isVerbatim(this.bytes, this.keyStart, this.#keyEnd)
    this.pos = this.#keyEnd
    if (this.#peek() !== colon) throw this.#unexpected('":"')
    this.pos++
    this.#peek()
    return true
  }

  #parse(start: number, end: number): unknown {
    if (this.bytes[start] === quote && isVerbatim(this.bytes, start, end)) {
      return this.bytes.toString('utf8', start + 1, end - 1)
    }
    return parseJson(this.bytes.toString('utf8', start, end))
  }

  #unexpected(expected: string): WireError {
    return unexpected(this.bytes, this.pos, expected)
  }
}

/** The values of the members with these names; undefined where there is no such member, or no object at all. */
export function readMembers(scanner: JsonScanner, names: readonly Buffer[]): unknown[] {
  const values: unknown[] = names.map(() => undefined)
  if (!scanner.isAtObject) return values
  for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
    const index = names.findIndex((name) => scanner.keyIs(name))
    if (index === -1) scanner.skipValue()
    else values[index] = scanner.readValue()
  }
  return values
}

/** Whether the characters of a string stand for themselves: no escapes, and nothing that JSON forbids. */
function isVerbatim(bytes: Buffer, start: number, end: number): boolean {
  for (let pos = start; pos < end; pos++) {
    const byte = bytes[pos] as number
    if (byte === backslash || byte < 0x20) return false
  }
  return true
}
