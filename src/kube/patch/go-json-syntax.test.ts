import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { goJsonSyntaxError } from './go-json-syntax.ts'

const reason = (text: string): string | undefined => goJsonSyntaxError(Buffer.from(text))

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

it.each([
  ['', 'unexpected end of JSON input'],
  ['{"a":"b', 'unexpected end of JSON input'],
  ['-', 'unexpected end of JSON input'],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['é', "invalid character 'Ã' looking for beginning of value"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
  ['\u0000', "invalid character '\\x00' looking for beginning of value"],
  ['{"a":tru}', "invalid character '}' in literal true (expecting 'e')"],
  ['nil', "invalid character 'i' in literal null (expecting 'u')"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{1', "invalid character '1' looking for beginning of object key string"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['[1 2]', "invalid character '2' after array element"],
  ['{}x', "invalid character 'x' after top-level value"],
  ['"\n"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1e+x', "invalid character 'x' in exponent of numeric literal"],
  ['-x', "invalid character 'x' in numeric literal"],
])('%j: %s', (text, expected) => {
  expect(reason(text)).toBe(expected)
})

it('refuses exactly what is no JSON', () => {
  const valid = fc.json()
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '\\',
    '-',
    '0',
    '12',
    '.',
    'e',
    'true',
    'nul',
    ' ',
  )
  const broken = fc.tuple(valid, fc.nat(), piece).map(([text, at, extra]) => {
    const cut = at % (text.length + 1)
    return `${text.slice(0, cut)}${extra}${text.slice(cut + 1)}`
  })
  const pieces = fc.array(piece, { maxLength: 6 }).map((all) => all.join(''))
  fc.assert(
    fc.property(fc.oneof(valid, broken, pieces), (text) => {
      expect(reason(text) === undefined).toBe(isJson(text))
    }),
    { numRuns: 2_000 },
  )
})
