import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RawJson } from '../codec/json.ts'
import { isJsonObject, type JsonObject, jsonEqual } from './json-value.ts'
import { applyMergePatch, mergeObjects } from './merge-patch.ts'

/** An engine that writes to what it was given throws. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) deepFreeze(child)
  return Object.freeze(value)
}

describe('RFC 7386 appendix A', () => {
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('%s with %s', (target, patch, result) => {
    expect(applyMergePatch(deepFreeze(JSON.parse(target)), deepFreeze(JSON.parse(patch)))).toEqual(JSON.parse(result))
  })
})

/** The algorithm of the RFC, word for word, on values of its own. */
function naive(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const entries = new Map(isJsonObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) entries.delete(name)
    else entries.set(name, naive(entries.get(name), value))
  }
  return Object.fromEntries(entries)
}

describe('merge patch', () => {
  const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
  const { object } = fc.letrec<{ object: JsonObject; value: unknown }>((tie) => ({
    object: fc
      .uniqueArray(fc.tuple(key, tie('value')), { maxLength: 4, selector: ([name]) => name })
      .map(Object.fromEntries),
    value: fc.oneof({ maxDepth: 3 }, fc.constantFrom(0, 'x', null), fc.array(fc.constantFrom(1, null)), tie('object')),
  }))
  function same(left: unknown, right: unknown): void {
    expect(jsonEqual(left, right)).toBe(true)
  }

  it('does what the RFC says and changes neither side', () => {
    fc.assert(fc.property(object, object, (a, b) => same(mergeObjects(deepFreeze(a), deepFreeze(b)), naive(a, b))))
  })

  it('changes nothing more the second time', () => {
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const once = mergeObjects(target, patch)
        same(mergeObjects(once, patch), once)
      }),
    )
  })

  it('leaves everything alone when it is empty', () => {
    fc.assert(fc.property(object, (target) => same(mergeObjects(target, {}), target)))
  })

  it('looks into raw JSON', () => {
    expect(mergeObjects({ raw: new RawJson('{"1":1.0,"a":1}') }, { raw: { a: null } })).toEqual({ raw: { 1: 1 } })
  })
})
