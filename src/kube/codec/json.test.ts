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
  })

  it('refuses numbers that would become infinite', () => {
    expect(() => parseJson('{"a":1e400}')).toThrow('the number 1e400 is too large')
    expect(() => printJson({ a: Number.NaN })).toThrow('NaN has no form in JSON')
  })

  it('takes time in proportion to the text, whatever stands in it', () => {
    const hostile = `[12345678901234567890,"${'_'.repeat(200_000)}bigint:${'\\\\'.repeat(200_000)}"]`
    expect((parseJson(hostile) as unknown[])[0]).toBe(12345678901234567890n)
  })

  it('reads very long strings beside large integers', () => {
    const long = 'a'.repeat(16_000_000)
    expect(parseJson(`[12345678901234567890,"${long}"]`)).toEqual([12345678901234567890n, long])
    expect(printJson(parseRawJson(`[1.0,"${long}"]`))).toBe(`[1.0,"${long}"]`)
  })

  it('agrees with the built-in parser on everything but large integers', () => {
    const smallNumbers = fc.json().filter((text) => !/[0-9]{16}/.test(text))
    fc.assert(
      fc.property(smallNumbers, fc.constantFrom('', ' ', '\n\t'), (text, space) => {
        const marked = `${space}[${space}1234567890123456789${space},${space}${text}${space}]`
        expect(parseJson(marked)).toEqual([1234567890123456789n, JSON.parse(text)])
      }),
    )
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

  it('refuses nesting that would exhaust the stack, also beside a bigint', () => {
    const nested = JSON.parse('['.repeat(3000) + ']'.repeat(3000)) as unknown
    expect(() => printJson([2n ** 70n, nested])).toThrow(/nested deeper/)
    const parsed = parseJson(`[12345678901234567890,${'['.repeat(9000)}${']'.repeat(9000)}]`) as unknown[]
    expect(parsed[0]).toBe(12345678901234567890n)
  })

  it('refuses nesting that would exhaust the stack', () => {
    const deep = JSON.parse('['.repeat(MAX_JSON_DEPTH + 2) + ']'.repeat(MAX_JSON_DEPTH + 2)) as unknown
    expect(() => printJson(deep)).toThrow(/nested deeper/)
  })
})

describe('parseRawJson', () => {
  it('keeps text that is nested too deeply to be walked', () => {
    const deep = `${'[ '.repeat(5000)}${']'.repeat(5000)}`
    expect(printJson(parseRawJson(deep))).toBe(deep.replaceAll(' ', ''))
    expect(() => parseRawJson('['.repeat(5000))).toThrow(/^not JSON/)
  })

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
