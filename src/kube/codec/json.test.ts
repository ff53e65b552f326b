import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_JSON_DEPTH, parseJson, parseRawJson, printJson, RawJson } from './json.ts'

describe('parseJson', () => {
  it('keeps integers that a number cannot hold', () => {
    expect(parseJson('{"a":9007199254740993,"b":[-9223372036854775808],"c":"12345678901234567890"}')).toEqual({
      a: 9007199254740993n,
      b: [-9223372036854775808n],
      c: '12345678901234567890',
    })
  })

  it('is not fooled by strings that look like its own marks', () => {
    expect(parseJson('{"bigint:":"bigint:1","a":12345678901234567890}')).toEqual({
      'bigint:': 'bigint:1',
      a: 12345678901234567890n,
    })
  })

  it('leaves long fractions and exponents to numbers', () => {
    expect(parseJson('[0.1234567890123456789]')).toEqual([Number('0.1234567890123456789')])
    expect(parseJson('[1e3000000000000000000]')).toEqual([Infinity])
  })

  it('says what is wrong', () => {
    expect(() => parseJson('{"a":}')).toThrow(/^not JSON: /)
  })
})

describe('printJson', () => {
  it('agrees with JSON.stringify on ordinary values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(printJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('escapes like an API server', () => {
    expect(printJson({ a: '<b>&\u2028\u2029\u0001\n"' })).toBe(
      '{"a":"\\u003cb\\u003e\\u0026\\u2028\\u2029\\u0001\\n\\""}',
    )
  })

  it('prints number-like keys in the order of their text', () => {
    expect(printJson({ data: { 9: 'b', 10: 'a', x: 'c' } })).toBe('{"data":{"10":"a","9":"b","x":"c"}}')
  })

  it('prints bigints and raw JSON as they are, and leaves undefined away', () => {
    const value = { big: 2n ** 63n, raw: new RawJson('{"b":1.0}'), none: undefined, list: [1n] }
    expect(printJson(value)).toBe('{"big":9223372036854775808,"raw":{"b":1.0},"list":[1]}')
  })

  it('refuses nesting that would exhaust the stack', () => {
    const deep = JSON.parse('['.repeat(MAX_JSON_DEPTH + 2) + ']'.repeat(MAX_JSON_DEPTH + 2)) as unknown
    expect(() => printJson(deep)).toThrow(/nested deeper/)
  })
})

describe('parseRawJson', () => {
  it('gives plain values where they print the same', () => {
    expect(parseRawJson('{"a":[1,"x"]}')).toEqual({ a: [1, 'x'] })
  })

  it.each(['{"a":1.0}', '{"10":1,"9":2}', '{"a":12345678901234567890}', '{ "a" : "x y" }'])('keeps %s', (text) => {
    const value = parseRawJson(text)
    expect(value).toBeInstanceOf(RawJson)
    expect((value as RawJson).value).toEqual(JSON.parse(text))
    expect(printJson(value)).toBe(text === '{ "a" : "x y" }' ? '{"a":"x y"}' : text)
  })
})
