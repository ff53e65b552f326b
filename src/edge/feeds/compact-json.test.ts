import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { compactJson } from './compact-json.ts'

const compact = (text: string): string => compactJson(Buffer.from(text)).toString('utf8')

it('leaves what is on one line as it is, but for the end', () => {
  expect(compact('{"a": 1.0, "b":"\\u003c x"}\n')).toBe('{"a": 1.0, "b":"\\u003c x"}')
})

it('takes the white space between tokens away, and none from within strings', () => {
  const text = '{\n  "a b": [ 1.50, 12345678901234567890 ],\n\t"c\\"  d": "x \\\\",\r\n "e": " \\n "\n}\n'
  expect(compact(text)).toBe('{"a b":[1.50,12345678901234567890],"c\\"  d":"x \\\\","e":" \\n "}')
})

it('makes of what was printed prettily what was printed without', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value: unknown = JSON.parse(text)
      expect(compact(`\n${JSON.stringify(value, null, 2)}\n`)).toBe(JSON.stringify(value))
    }),
  )
})
