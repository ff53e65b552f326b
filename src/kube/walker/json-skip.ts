/**
 * Where JSON values end. Nothing is checked beyond what that takes: brackets must match and strings must be closed.
 * Nothing here recurses or allocates. All functions keep within `[start, end)` or throw a WireError.
 */

import { WireError } from '../../protobuf/wire-error.ts'
import { MAX_JSON_DEPTH } from '../codec/json.ts'

// Not exported on purpose: a loop reads a constant that modules share from memory each time round, a third slower.
const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d

/** Up to this length the end of a string is looked for here; beyond it a call into the runtime is cheaper. */
const shortStringBytes = 128

/** In ASCII a bracket and the brace of the same direction differ in this bit, and nothing else differs so from them. */
const braceBit = 0x20
/** From an opening bracket or brace to the one that closes it. */
const closerDistance = 2

/** Bytes that cannot be part of a number or of `true`, `false` and `null`. */
const endsWord = byteSet(' \t\r\n,:"{}[]')
const isSpace = byteSet(' \t\r\n')

/** The open brackets around the present byte; only ever used within one call of `containerEnd`. */
const openers = new Uint8Array(MAX_JSON_DEPTH + 1)

/** The first position that is no white space. */
export function spaceEnd(bytes: Buffer, start: number, end: number): number {
  let pos = start
  while (pos < end && isSpace[bytes[pos] as number] === 1) pos++
  return pos
}

/** The position behind the value that starts here. */
export function valueEnd(bytes: Buffer, start: number, end: number): number {
  const byte = bytes[start] as number
  if (byte === quote) return stringEnd(bytes, start, end)
  if ((byte | braceBit) === openBrace) return containerEnd(bytes, start, end)
  if (endsWord[byte] === 1) throw unexpected(bytes, start, 'a value')
  let pos = start
  while (pos < end && endsWord[bytes[pos] as number] === 0) pos++
  return pos
}

/** The position behind the string that starts here. */
export function stringEnd(bytes: Buffer, start: number, end: number): number {
  let pos = start + 1
  const shortEnd = Math.min(end, pos + shortStringBytes)
  while (pos < shortEnd) {
    const byte = bytes[pos++]
    if (byte === quote) return pos
    if (byte === backslash) pos++
  }
  return longStringEnd(bytes, pos, end)
}

/** The end of a string from within it, from any position that is not behind a backslash. */
function longStringEnd(bytes: Buffer, start: number, end: number): number {
  for (let pos = start; ; pos++) {
    pos = bytes.indexOf(quote, pos)
    if (pos === -1 || pos >= end) throw truncated()
    let backslashes = 0
    while (pos - backslashes > start && bytes[pos - backslashes - 1] === backslash) backslashes++
    if (backslashes % 2 === 0) return pos + 1
  }
}

/**
 * The position behind the object or list that starts here. Most of the time of a walk is spent in this loop: that is
 * why short strings are stepped over on the spot.
 */
function containerEnd(bytes: Buffer, start: number, end: number): number {
  let depth = 0
  for (let pos = start; pos < end; ) {
    const byte = bytes[pos++] as number
    if (byte === quote) {
      const longAt = pos + shortStringBytes
      for (let inside = bytes[pos++]; inside !== quote && pos < end; inside = bytes[pos++]) {
        if (inside === backslash) pos++
        else if (pos > longAt) {
          pos = longStringEnd(bytes, pos, end)
          break
        }
      }
    } else if ((byte | braceBit) === openBrace) {
      if (++depth > MAX_JSON_DEPTH) throw new WireError('too-deep', `JSON nested deeper than ${MAX_JSON_DEPTH}`)
      openers[depth] = byte
    } else if ((byte | braceBit) === closeBrace) {
      const closer = (openers[depth] as number) + closerDistance
      if (byte !== closer) throw unexpected(bytes, pos - 1, `"${String.fromCharCode(closer)}"`)
      if (--depth === 0) return pos
    }
  }
  throw truncated()
}

export function unexpected(bytes: Buffer, position: number, expected: string): WireError {
  const found = JSON.stringify(String.fromCharCode(bytes[position] as number))
  return new WireError('malformed', `JSON at byte ${position}: expected ${expected}, found ${found}`)
}

export function truncated(): WireError {
  return new WireError('truncated', 'the JSON ends inside a value')
}

function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) set[byte] = 1
  return set
}
