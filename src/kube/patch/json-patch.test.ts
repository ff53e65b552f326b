import * as fc from 'fast-check'
import { createPatch } from 'rfc6902'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../status/status.ts'
import { applyJsonPatch, MAX_JSON_PATCH_COPY_BYTES } from './json-patch.ts'
import { MAX_JSON_PATCH_OPERATIONS, unknownOperationFields } from './json-patch-operations.ts'
import type { JsonObject } from './json-value.ts'
import { MAX_PATCH_DEPTH } from './limits.ts'

/** An engine that writes to what it was given throws. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) deepFreeze(child)
  return Object.freeze(value)
}

function refusal(object: JsonObject, patch: unknown): ApiError {
  try {
    applyJsonPatch(deepFreeze(object), deepFreeze(patch))
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return expect.fail('the patch was accepted')
}

/** What the client is not told. */
function whyNot(object: JsonObject, ...patch: object[]): string {
  const error = refusal(object, patch)
  expect(error.code).toBe(422)
  expect(error.message).toBe('the server rejected our request due to an error in our request')
  return (error.cause as Error).message
}

describe('RFC 6902 appendix A', () => {
  it.each<[string, JsonObject, object[], JsonObject]>([
    ['1', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
    ['2', { foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
    ['3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    ['4', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
    ['5', { baz: 'qux', foo: 'bar' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo', foo: 'bar' }],
    [
      '6',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      '7',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      '8',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      '10',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    ['11', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
    ['14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    ['16', { foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }], { foo: ['bar', ['abc', 'def']] }],
  ])('example %s', (_name, object, patch, expected) => {
    expect(applyJsonPatch(deepFreeze(object), deepFreeze(patch))).toEqual(expected)
  })

  it('refuses the examples that fail', () => {
    expect(whyNot({ baz: 'qux' }, { op: 'test', path: '/baz', value: 'bar' })).toBe(
      'testing value /baz failed: test failed',
    )
    expect(whyNot({ foo: 'bar' }, { op: 'add', path: '/baz/bat', value: 'qux' })).toBe(
      'add operation does not apply: doc is missing path: "/baz/bat": missing value',
    )
    expect(whyNot({ '/': 9, '~1': 10 }, { op: 'test', path: '/~01', value: '10' })).toMatch(/test failed$/)
  })
})

describe('JSON patch', () => {
  it.each([
    [
      { op: 'remove', path: '/x' },
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      { op: 'remove', path: '/l/2' },
      "error in remove for path: '/l/2': Unable to access invalid index: 2: invalid index referenced",
    ],
    [
      { op: 'add', path: '/l/x', value: 1 },
      `error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [{ op: 'add', path: `/l/${'9'.repeat(20)}`, value: 1 }, /value out of range$/],
    [
      { op: 'replace', path: '/l/5', value: 1 },
      'replace operation does not apply: doc is missing key: /l/5: missing value',
    ],
    [
      { op: 'move', from: '/x', path: '/y' },
      "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      { op: 'move', from: '/o', path: '/o/p' },
      'move operation does not apply: doc is missing destination path: /o/p: missing value',
    ],
    [
      { op: 'copy', from: '/x/y', path: '/z' },
      'copy operation does not apply: doc is missing from path: /x/y: missing value',
    ],
    [
      { op: 'test', path: '/l/7', value: 1 },
      "error in test for path: '/l/7': Unable to access invalid index: 7: invalid index referenced",
    ],
    [{ op: 'add', value: 1 }, 'add operation failed to decode path: missing value'],
    [{ op: 'copy', path: '/z' }, 'copy operation failed to decode from: missing value'],
    [{ op: 'replace', path: '' }, 'replace operation value must be object or array'],
    [{ op: 'add', path: 'o/p', value: 1 }, 'add operation does not apply: doc is missing path: "o/p": missing value'],
    [{}, 'Unexpected kind: unknown'],
  ])('says in the cause why %j does not apply', (operation, why) => {
    const text = whyNot({ l: [1, 2], o: { p: 1 } }, operation)
    if (typeof why === 'string') expect(text).toBe(why)
    else expect(text).toMatch(why)
  })

  it.each([
    [{ op: 'remove', path: '/l/-1' }, [1]],
    [{ op: 'replace', path: '/l/-2', value: 0 }, [0, 2]],
    [{ op: 'add', path: '/l/-1', value: 0 }, [1, 2, 0]],
    [{ op: 'add', path: '/l/-3', value: 0 }, [0, 1, 2]],
    [{ op: 'add', path: '/l/2' }, [1, 2, null]],
    [{ op: 'copy', from: '/none', path: '/l/0' }, [null, 1, 2]],
  ])('departs from the RFC as the API server does: %j', (operation, expected) => {
    expect(applyJsonPatch(deepFreeze({ l: [1, 2] }), [operation])).toEqual({ l: expected })
  })

  it('tests values, not their text', () => {
    const object = { number: 1, text: 'a<b' }
    const patch = JSON.parse('[{"op":"test","path":"/number","value":1.0},{"op":"test","path":"/text","value":"a<b"}]')
    expect(applyJsonPatch(object, patch)).toEqual(object)
  })

  it('creates what it is told to replace', () => {
    expect(applyJsonPatch({}, [{ op: 'replace', path: '/a', value: 1 }])).toEqual({ a: 1 })
  })

  it('knows the fields that no operation has', () => {
    const patch = [{ op: 'add', path: '/a', value: { deep: 1 }, from: '/b' }, { op: 'add', 'x"': 1 }, null, 5]
    expect(unknownOperationFields(patch)).toEqual([String.raw`json patch unknown field "[1].x\""`])
    expect(unknownOperationFields({})).toEqual([])
  })

  it('changes nothing when a later operation fails', () => {
    const object = { list: [1], map: { a: 1 } }
    whyNot(
      object,
      { op: 'add', path: '/list/0', value: 0 },
      { op: 'remove', path: '/map/a' },
      { op: 'remove', path: '/x' },
    )
    expect(object).toEqual({ list: [1], map: { a: 1 } })
  })

  it('shares what it does not touch', () => {
    const object = { kept: { deep: [1] }, changed: { a: 1 } }
    const result = applyJsonPatch(object, [{ op: 'add', path: '/changed/b', value: 2 }])
    expect(result['kept']).toBe(object.kept)
    expect(object.changed).toEqual({ a: 1 })
  })

  it('keeps copies apart from their origin and from the patch', () => {
    const value = { a: 1 }
    const patch = [
      { op: 'add', path: '/x', value },
      { op: 'copy', from: '/x', path: '/y' },
      { op: 'add', path: '/x/b', value: 2 },
      { op: 'add', path: '/y/c', value: 3 },
    ]
    expect(applyJsonPatch({}, patch)).toEqual({ x: { a: 1, b: 2 }, y: { a: 1, c: 3 } })
    expect(value).toEqual({ a: 1 })
  })

  it('treats __proto__ and constructor as any other key', () => {
    const result = applyJsonPatch({}, [
      { op: 'add', path: '/__proto__', value: {} },
      { op: 'add', path: '/__proto__/polluted', value: true },
    ])
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":true}}')
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
    whyNot({}, { op: 'add', path: '/__proto__/polluted', value: true })
    whyNot({}, { op: 'add', path: '/constructor/prototype/polluted', value: true })
    whyNot({ l: [] }, { op: 'add', path: '/l/__proto__/polluted', value: true })
    expect(({} as JsonObject)['polluted']).toBeUndefined()
  })

  it('takes as many operations as it says, on one list, and no more', () => {
    const append = { op: 'add', path: '/l/-', value: 0 }
    const patch = Array.from({ length: MAX_JSON_PATCH_OPERATIONS }, () => append)
    expect(applyJsonPatch({ l: [] }, patch)['l']).toHaveLength(MAX_JSON_PATCH_OPERATIONS)
    expect(refusal({ l: [] }, [...patch, append])).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' })
  })

  it('bounds what copies may add', () => {
    const doubling = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '/o', path: `/o/${n}` }))
    expect(whyNot({ o: { text: 'x'.repeat(100) } }, ...doubling)).toContain(
      `exceeding the limit ${MAX_JSON_PATCH_COPY_BYTES}`,
    )
  })

  it('bounds how deep operations may nest the document', () => {
    const nesting = Array.from({ length: 20 }, (_, n) => [
      { op: 'add', path: '/b', value: {} },
      { op: 'move', from: '/a', path: `/b/${n}` },
      { op: 'move', from: '/b', path: '/a' },
    ]).flat()
    expect(applyJsonPatch({ a: 1 }, nesting)).toHaveProperty('a.19.18')
    const deeper = Array.from({ length: MAX_PATCH_DEPTH / 20 }, () => nesting).flat()
    expect(whyNot({ a: 1 }, ...deeper)).toBe(`the patched document is nested deeper than ${MAX_PATCH_DEPTH}`)
  })

  const key = fc.constantFrom('a', 'b', 'a/b', 'm~n', '', '0', '__proto__')
  const { document } = fc.letrec<{ document: JsonObject; value: unknown }>((tie) => ({
    document: fc
      .uniqueArray(fc.tuple(key, tie('value')), { maxLength: 4, selector: ([name]) => name })
      .map(Object.fromEntries),
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(0, 1, 'x', true, null),
      fc.array(tie('value'), { maxLength: 4 }),
      tie('document'),
    ),
  }))

  it('leads from any document to any other, and back', () => {
    fc.assert(
      fc.property(document, document, (one, other) => {
        fc.pre(!JSON.stringify([one, other]).includes('__proto__'))
        expect(applyJsonPatch(deepFreeze(one), createPatch(one, other))).toEqual(other)
        expect(applyJsonPatch(applyJsonPatch(one, createPatch(one, other)), createPatch(other, one))).toEqual(one)
      }),
    )
  })

  it('undoes an add by a remove, whatever the key', () => {
    fc.assert(
      fc.property(document, key, fc.jsonValue(), (one, name, value) => {
        fc.pre(!Object.hasOwn(one, name))
        const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
        const added = applyJsonPatch(deepFreeze(one), [{ op: 'add', path, value }])
        expect(applyJsonPatch(added, [{ op: 'test', path, value }])).toEqual(added)
        expect(JSON.stringify(applyJsonPatch(deepFreeze(added), [{ op: 'remove', path }]))).toBe(JSON.stringify(one))
      }),
    )
  })
})
