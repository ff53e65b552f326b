import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { goJson, goQuote } from './go-text.ts'

test.each([
  ['', '""'],
  ['plain text', '"plain text"'],
  ['say "hi"\\', String.raw`"say \"hi\"\\"`],
  ['\x07\b\f\n\r\t\v', String.raw`"\a\b\f\n\r\t\v"`],
  ['\x00\x1f\x7f', String.raw`"\x00\x1f\x7f"`],
  ['grün 雪 €', '"grün 雪 €"'],
  ['\u00a0\u200b\ufeff', String.raw`"\u00a0\u200b\ufeff"`],
  ['\u{1F600}\u{E0001}', String.raw`"😀\U000e0001"`],
  ['\ud800', '"\uFFFD"'],
])('%j is quoted as Go quotes it', (text, quoted) => {
  expect(goQuote(text)).toBe(quoted)
})

test('a quoted ASCII text reads back as itself', () => {
  const printableAscii = fc.string({ unit: 'grapheme-ascii' })
  fc.assert(
    fc.property(printableAscii, (text) => {
      expect(JSON.parse(goQuote(text))).toBe(text)
    }),
  )
})

test('JSON has no characters that HTML would read', () => {
  expect(goJson(['<a>', '&', '\u2028'])).toBe(String.raw`["\u003ca\u003e","\u0026","\u2028"]`)
  expect(goJson(undefined)).toBe('null')
  expect(goJson({ a: 2n ** 64n })).toBe('{"a":18446744073709551616}')
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value: unknown = JSON.parse(json)
      expect(goJson(value)).not.toMatch(/[<>&]/)
      expect(JSON.parse(goJson(value))).toEqual(value)
    }),
  )
})
