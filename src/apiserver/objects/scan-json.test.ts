import { describe, expect, it } from 'vitest'
import { MAX_BODY_DEPTH, MAX_BODY_VALUES, MAX_NUMBER_CHARACTERS, scanJson } from './scan-json.ts'

describe('scanJson', () => {
  it.each([
    ['{"a":1,"a":2}', ['a']],
    ['{"spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}}', ['spec.containers[1].name']],
    ['{"a":{"x":1},"b":{"x":1},"c":["x","x"]}', []],
    ['{"a\\"b":1,"a\\u0022b":2}', ['a"b']],
    ['{"a":"{\\"b\\":1,\\"b\\":2}"}', []],
    ['{"a":[[1],[2,{"k":1,"k":2}]]}', ['a[1][1].k']],
    ['{"a":1,"a":2,"a":3,"b":1,"b":2}', ['a', 'b']],
  ])('in %s finds %j', (text, duplicates) => {
    expect(scanJson(text)).toEqual({ duplicates })
  })

  it('names some of many', () => {
    const twice = (key: number): string => `"${key}":1,"${key}":2`
    const text = `{${Array.from({ length: 1_000 }, (_, key) => twice(key)).join(',')}}`
    expect(scanJson(text).duplicates).toHaveLength(10)
  })

  it('refuses more values than anybody needs', () => {
    const list = (count: number): string => `[${Array.from({ length: count }, () => '1').join(',')}]`
    expect(scanJson(list(MAX_BODY_VALUES - 1))).toEqual({ duplicates: [] })
    expect(() => scanJson(list(MAX_BODY_VALUES))).toThrow(`limit is ${MAX_BODY_VALUES} values`)
  })

  it('refuses what is nested too deeply', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(scanJson(nested(MAX_BODY_DEPTH))).toEqual({ duplicates: [] })
    expect(() => scanJson(nested(MAX_BODY_DEPTH + 1))).toThrow(`more than ${MAX_BODY_DEPTH} deep`)
  })

  it.each(['1', '-1', '1.', '1e'])('refuses numbers without end: %s...', (start) => {
    const digits = '1'.repeat(MAX_NUMBER_CHARACTERS - start.length)
    expect(scanJson(`{"a":${start}${digits}}`)).toEqual({ duplicates: [] })
    expect(() => scanJson(`{"a":${start}${digits}1}`)).toThrow(`more than ${MAX_NUMBER_CHARACTERS} digits`)
  })

  it.each(['', '{', '"', '{"a', '{"a\\":', '}', ']', '{"\\x":1,"\\x":1', 'tru', '[1,'])(
    'leaves %j to the parser',
    (text) => {
      expect(() => scanJson(text)).not.toThrow()
    },
  )
})
