/** What only JSON has: white space, escapes, repeated keys, and text that is none. */
import { describe, expect, it } from 'vitest'
import { jsonWalker as walker } from '../../../src/kube/walker/json-walker.ts'
import type { FieldPath } from '../../../src/kube/walker/walker.ts'
import { WireError } from '../../../src/protobuf/wire-error.ts'

describe('JSON walker, on the text', () => {
  const edit = (text: string, path: FieldPath, value: unknown) =>
    Buffer.from(walker.edit(Buffer.from(text), [{ path, replace: () => value }])).toString()

  it('leaves white space, escapes and unknown members as they are', () => {
    const text =
      ' {\n\t"a" : "\\u00e9\\n\\"}" ,\r\n "b" : { "c" : [ 1 , {} ] , "d":1e2 } , "x" : 12345678901234567890 }\n'
    expect(edit(text, ['b', 'd'], 7)).toBe(text.replace('1e2', '7'))
    expect(edit(text, ['b', 'c'], undefined)).toBe(text.replace('"c" : [ 1 , {} ] , ', ''))
    expect(edit(text, ['b', 'd'], undefined)).toBe(text.replace(' , "d":1e2', ''))
    expect(edit(text, ['b', 'c', 1, 'e'], 'new')).toBe(text.replace('{}', '{"e":"new"}'))
    expect(edit(text, ['b', 'e'], null)).toBe(text.replace('1e2', '1e2,"e":null'))
    expect(edit(text, ['x'], 1n)).toBe(text.replace('12345678901234567890', '1'))
    expect(walker.read(Buffer.from(text), ['x'])).toBe(12345678901234567890n)
  })

  it('finds keys however they are escaped', () => {
    const text = '{"\\u0061\\"b":{"c\\/d":1},"\\\\":2}'
    expect(walker.read(Buffer.from(text), ['a"b', 'c/d'])).toBe(1)
    expect(edit(text, ['\\'], 3)).toBe(text.replace('2}', '3}'))
    expect(edit('{}', ['a"\n'], 1)).toBe('{"a\\"\\n":1}')
  })

  it('counts the last of two equal keys, and removes both', () => {
    const text = '{"a":1,"b":2,"a":3}'
    expect(walker.read(Buffer.from(text), ['a'])).toBe(3)
    expect(edit(text, ['a'], 4)).toBe('{"a":1,"b":2,"a":4}')
    expect(edit(text, ['a'], undefined)).toBe('{"b":2}')
    expect(edit('{"a":1,"a":3}', ['a'], undefined)).toBe('{}')
  })

  it('splits lists of custom resources, whose items name their own type', () => {
    const list = Buffer.from(
      '{"items":[{"kind":"Tide","apiVersion":"sea.example/v1","metadata":{"name":"high"}},{}],"kind":"Tides","apiVersion":"sea.example/v1"}',
    )
    const [tide, empty] = walker.items(list)
    expect(tide?.type).toEqual({ apiVersion: 'sea.example/v1', kind: 'Tide' })
    expect(tide?.toDocument()).toBe(tide?.bytes)
    expect(tide?.identity.name).toBe('high')
    expect(Buffer.from(empty?.toDocument() ?? []).toString()).toBe('{"kind":"","apiVersion":"sea.example/v1"}')
  })

  it('writes an event on one line, whatever lines its object has', () => {
    const frame = walker.writeEvent('ADDED', Buffer.from('{\n  "a": "b\\n"\n}\n'))
    expect(Buffer.from(frame).toString()).toBe('{"type":"ADDED","object":{   "a": "b\\n" } }')
  })

  it('takes null for an empty list', () => {
    expect(walker.items(Buffer.from('{"kind":"PodList","items":null}'))).toEqual([])
  })

  it.each([
    ['', 'truncated'],
    ['{', 'truncated'],
    ['{"a":"x', 'truncated'],
    ['{"a":"x\\"}', 'truncated'],
    ['{"a":{"b":[1,2}}', 'malformed'],
    ['{"a" 1}', 'malformed'],
    ['{"a":1 "b":2}', 'malformed'],
    ['{a:1}', 'malformed'],
    ['{"a":,}', 'malformed'],
    ['{"a":1,}', 'malformed'],
    ['{"a":1}}', 'malformed'],
    ['{"a":1} x', 'malformed'],
    ['[]', 'malformed'],
    ['"text"', 'malformed'],
  ])('refuses %s', (text, code) => {
    const attempt = () => walker.typeOf(Buffer.from(text))
    expect(attempt).toThrow(WireError)
    expect(attempt).toThrow(expect.objectContaining({ code }) as Error)
  })

  it('refuses nesting beyond the limit', () => {
    const deep = Buffer.from(`{"a":${'['.repeat(1_001)}${']'.repeat(1_001)}}`)
    expect(() => walker.typeOf(deep)).toThrow('JSON nested deeper than 1000')
  })

  it('refuses a place whose text is no JSON', () => {
    for (const text of ['{"a":tru}', '{"a":"\\x"}', '{"a":01}', '{"a":"line\nfeed"}']) {
      expect(() => walker.read(Buffer.from(text), ['a'])).toThrow(WireError)
    }
  })

  it.each(['{}', '{"type":"ADDED"}', '{"type":"GONE","object":{}}', '{"type":1,"object":{}}', '[]'])(
    'refuses the event %s',
    (text) => {
      expect(() => walker.readEvent(Buffer.from(text))).toThrow(WireError)
    },
  )
})
