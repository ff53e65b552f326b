import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  formatMediaType,
  MAX_MEDIA_TYPE_LENGTH,
  MAX_MEDIA_TYPE_PARAMETERS,
  MediaTypeError,
  parseMediaType,
} from './media-type.ts'

test.each<[string, string, string, Record<string, string>]>([
  ['application/json', 'application', 'json', {}],
  [' Application/JSON ', 'application', 'json', {}],
  ['application/json;charset=UTF-8', 'application', 'json', { charset: 'UTF-8' }],
  ['application/json ; Charset = utf-8 ; a=b', 'application', 'json', { charset: 'utf-8', a: 'b' }],
  ['application/json;', 'application', 'json', {}],
  ['a/b;x="y; z"', 'a', 'b', { x: 'y; z' }],
  [String.raw`a/b;x="q\"\\"`, 'a', 'b', { x: String.raw`q"\ `.trimEnd() }],
  ['a/b;x=""', 'a', 'b', { x: '' }],
  ['a/b;x=1;x=1', 'a', 'b', { x: '1' }],
  ['application/vnd.kubernetes.protobuf;stream=watch', 'application', 'vnd.kubernetes.protobuf', { stream: 'watch' }],
])('%j', (text, type, subtype, parameters) => {
  const parsed = parseMediaType(text)
  expect([parsed.type, parsed.subtype, Object.fromEntries(parsed.parameters)]).toEqual([type, subtype, parameters])
})

test.each([
  ['', /type\/subtype/],
  ['json', /type\/subtype/],
  ['a/b/c', /type\/subtype/],
  ['a /b', /type\/subtype/],
  ['a/b;c', /malformed parameter/],
  ['a/b;c=', /malformed parameter/],
  ['a/b;;c=d', /malformed parameter/],
  ['a/b;c="d', /malformed parameter/],
  ['a/b;c=d e', /malformed parameter/],
  ['a/b;c=1;C=2', /two values for parameter c/],
  [`a/b;c=${'d'.repeat(MAX_MEDIA_TYPE_LENGTH)}`, /at most 1024/],
  [
    `a/b${Array.from({ length: MAX_MEDIA_TYPE_PARAMETERS + 1 }, (_, index) => `;p${index}=x`).join('')}`,
    /more than 32 parameters/,
  ],
])('%j is refused', (text, message) => {
  expect(() => parseMediaType(text)).toThrow(MediaTypeError)
  expect(() => parseMediaType(text)).toThrow(message)
})

test('parse(format(x)) is x', () => {
  const word = fc.stringMatching(/^[a-z0-9.+-]{1,10}$/)
  const value = fc.string({ maxLength: 20 })
  const parameters = fc.uniqueArray(fc.tuple(word, value), { selector: ([name]) => name, maxLength: 5 })
  fc.assert(
    fc.property(word, word, parameters, (type, subtype, pairs) => {
      const mediaType = { type, subtype, parameters: new Map(pairs) }
      expect(parseMediaType(formatMediaType(mediaType))).toEqual(mediaType)
    }),
  )
})

test('a line break cannot be written into a header', () => {
  const parameters = new Map([['x', 'a\r\nSet-Cookie: b']])
  expect(() => formatMediaType({ type: 'a', subtype: 'b', parameters })).toThrow(/line break/)
})

test('no text makes the parser do anything but refuse', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '/', ';', '=', '"', '\\', ' ', '\n'), maxLength: 30 }),
      (text) => {
        try {
          expect(parseMediaType(text).type).not.toBe('')
        } catch (error) {
          expect(error).toBeInstanceOf(MediaTypeError)
        }
      },
    ),
  )
})
