import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareKeys, isEmptyRange, prefixRange } from './keys.ts'

/** Letters from every length of UTF-8, and the neighbourhood of the surrogates. */
const letter = fc.constantFrom(
  '\u0001',
  'a',
  'b',
  '/',
  '~',
  'ä',
  '\u07ff',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
)
const key = fc.array(letter, { maxLength: 4 }).map((letters) => letters.join(''))

describe('compareKeys', () => {
  it('orders as the bytes of UTF-8 do', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
  })
})

describe('prefixRange', () => {
  it('holds exactly the keys that begin with the prefix and come after the given one', () => {
    fc.assert(
      fc.property(key, key, fc.option(key, { nil: undefined }), (candidate, prefix, after) => {
        const { start, end } = prefixRange(prefix, after)
        const bytes = Buffer.from(candidate)
        const inside = Buffer.compare(bytes, start) >= 0 && (end === undefined || Buffer.compare(bytes, end) < 0)
        const wanted = candidate.startsWith(prefix) && (after === undefined || compareKeys(candidate, after) > 0)
        expect(inside).toBe(wanted)
      }),
    )
  })

  it('is empty when nothing can be after the given key', () => {
    expect(isEmptyRange(prefixRange('a/', 'b'))).toBe(true)
    expect(isEmptyRange(prefixRange('a/', 'a/b'))).toBe(false)
    expect(isEmptyRange(prefixRange('', 'b'))).toBe(false)
  })
})
