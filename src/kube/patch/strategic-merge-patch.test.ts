/** The laws and the odd corners; how single patches of real kinds come out is the business of `test/real`. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findKind, messageType } from '../schema/schema.ts'
import { ApiError } from '../status/status.ts'
import type { JsonObject } from './json-value.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'

const pod = messageType('k8s.io.api.core.v1.Pod')
const container = messageType('k8s.io.api.core.v1.Container')

/** An engine that writes to what it was given throws. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) deepFreeze(child)
  return Object.freeze(value)
}

function patchPod(object: JsonObject, patch: JsonObject): JsonObject {
  return applyStrategicMergePatch(deepFreeze(object), deepFreeze(patch), pod)
}

function refusal(object: JsonObject, patch: JsonObject, message = pod): object {
  try {
    applyStrategicMergePatch(deepFreeze(object), deepFreeze(patch), message)
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, message: error.message }
    throw error
  }
  return expect.fail('the patch was accepted')
}

const env = (...names: string[]): JsonObject[] => names.map((name) => ({ name, value: name }))
const named = (...names: string[]): JsonObject[] => names.map((name) => ({ name }))

describe('strategic merge patch', () => {
  it('merges objects, replaces plain lists and removes by null', () => {
    const object = { spec: { nodeSelector: { a: '1', b: '2' }, tolerations: [{ key: 'a' }], hostname: 'h' } }
    const patch = { spec: { nodeSelector: { a: null, c: '3' }, tolerations: [{ key: 'b' }], hostname: null } }
    expect(patchPod(object, patch)).toEqual({ spec: { nodeSelector: { b: '2', c: '3' }, tolerations: [{ key: 'b' }] } })
  })

  it('finds the fields of inlined types', () => {
    const object = { spec: { volumes: [{ name: 'v', projected: { sources: [], defaultMode: 1 } }] } }
    const patch = { spec: { volumes: [{ name: 'v', projected: { defaultMode: 2 } }] } }
    expect(patchPod(object, patch)).toEqual({
      spec: { volumes: [{ name: 'v', projected: { sources: [], defaultMode: 2 } }] },
    })
  })

  it('drops nulls and $patch objects where there is nothing to merge with', () => {
    const patch = {
      spec: {
        affinity: { a: null, b: { c: null, d: [{ e: null }, null, { $patch: 'delete' }] } },
        x: { $patch: 'replace' },
      },
    }
    expect(patchPod({ spec: {} }, patch)).toEqual({ spec: { affinity: { b: { d: [{}, null] } } } })
  })

  it('adds before it deletes, in whatever order the patch says so', () => {
    const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a', 'c'], finalizers: ['c', 'd'] } }
    expect(patchPod({ metadata: { finalizers: ['a', 'b'] } }, patch)).toEqual({ metadata: { finalizers: ['d', 'b'] } })
  })

  it('merges the first of items that share a key, as Services with TCP and UDP on one port have them', () => {
    const service = findKind('v1', 'Service')?.message ?? expect.fail('no Service')
    const ports = [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ]
    const patched = applyStrategicMergePatch(
      { spec: { ports } },
      { spec: { ports: [{ port: 53, name: 'dns' }] } },
      service,
    )
    expect(patched).toEqual({ spec: { ports: [{ port: 53, protocol: 'UDP', name: 'dns' }, ports[1]] } })
  })

  it('treats __proto__ as any other key', () => {
    const patch = JSON.parse('{"metadata":{"labels":{"__proto__":"x"}},"__proto__":{"polluted":1}}') as JsonObject
    const result = patchPod({ metadata: { labels: { a: '1' } } }, patch)
    expect(JSON.stringify(result)).toBe('{"metadata":{"labels":{"a":"1","__proto__":"x"}},"__proto__":{"polluted":1}}')
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
    expect(({} as JsonObject)['polluted']).toBeUndefined()
  })

  it('refuses what it cannot merge', () => {
    const object = {
      metadata: { finalizers: ['a'], labels: { a: 'b' } },
      spec: { tolerations: [{ key: 'k' }], extra: {} },
    }
    const fails = (patch: JsonObject): object => refusal(object, patch)
    expect(fails({ spec: { extra: {} } })).toEqual({
      code: 500,
      message: 'unable to find api field in struct PodSpec for the json field "extra"',
    })
    expect(fails({ spec: { '$setElementOrder/tolerations': [{ key: 'k' }] } })).toMatchObject({ code: 400 })
    expect(fails({ metadata: { finalizers: [['a']] } })).toMatchObject({ code: 500 })
    expect(refusal({ metadata: { finalizers: [['a']] } }, { metadata: { finalizers: [['a']] } })).toMatchObject({
      code: 422,
    })
    expect(fails({ spec: { '$setElementOrder/hostname': [] } })).toEqual({
      code: 500,
      message: 'expected slice or array type, but got: struct',
    })
    expect(refusal({ env: [] }, { env: [{ value: 'x' }] }, container)).toEqual({
      code: 500,
      message: 'map: map[value:x] does not contain declared merge key: name',
    })
    expect(refusal({ env: [] }, { '$setElementOrder/env': named('a') }, container)).toEqual({
      code: 500,
      message: 'no elements in any of the given slices',
    })
  })
})

interface ListPatch {
  readonly live: string[]
  readonly set: string[]
  readonly deleted: string[]
  readonly order: string[]
}

/** What becomes of the names, by the rule as a person would follow it: place one server item after the other. */
function expectedNames({ live, set, deleted, order }: ListPatch): string[] {
  const named = order.length > 0 ? order : set
  const present = new Set([...live.filter((name) => !deleted.includes(name)), ...set])
  const fromPatch = named.filter((name) => present.has(name))
  const fromServer = live.filter((name) => present.has(name) && !named.includes(name))
  const news = set.filter((name) => !live.includes(name))
  const survivors = live.filter((name) => present.has(name))
  const places = order.length > 0 ? [...survivors, ...news].slice(0, live.length) : survivors
  const result: string[] = []
  for (const name of fromPatch) {
    const stays = (other: string): boolean =>
      places.includes(name) && places.indexOf(other) < places.indexOf(name) && !result.includes(other)
    for (const other of fromServer) {
      if (result.includes(other)) continue
      if (!stays(other)) break
      result.push(other)
    }
    result.push(name)
  }
  return [...result, ...fromServer.filter((name) => !result.includes(name))]
}

describe('merging lists by key', () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 8 })
  const patches = fc.record({ live: names, set: names, deleted: names, order: names }).map((drawn): ListPatch => {
    const deleted = drawn.deleted.filter((name) => !drawn.set.includes(name))
    if (drawn.order.length === 0) return { ...drawn, deleted }
    const order = [
      ...drawn.order.filter((name) => !deleted.includes(name)),
      ...drawn.set.filter((name) => !drawn.order.includes(name)),
    ]
    return { ...drawn, deleted, order, set: order.filter((name) => drawn.set.includes(name)) }
  })
  const patchOf = ({ set, deleted, order }: ListPatch): JsonObject => ({
    ...(order.length > 0 ? { '$setElementOrder/env': named(...order) } : {}),
    env: [
      ...set.map((name) => ({ name, value: `new ${name}` })),
      ...deleted.map((name) => ({ name, $patch: 'delete' })),
    ],
  })
  const apply = (object: JsonObject, patch: JsonObject): JsonObject =>
    applyStrategicMergePatch(deepFreeze(object), deepFreeze(patch), container)

  it('gives every item its place and its contents', () => {
    fc.assert(
      fc.property(patches, (one) => {
        fc.pre(one.live.length > 0 && one.set.length + one.deleted.length > 0)
        const expected = expectedNames(one).map((name) => ({
          name,
          value: one.set.includes(name) ? `new ${name}` : name,
        }))
        expect(apply({ env: env(...one.live) }, patchOf(one))).toEqual({ env: expected })
      }),
      { numRuns: 1_000 },
    )
  })

  it('has the same contents after the second time', () => {
    fc.assert(
      fc.property(patches, (one) => {
        fc.pre(one.live.length > 0 && one.set.length > 0)
        const once = apply({ env: env(...one.live) }, patchOf(one))
        const twice = apply(once, patchOf(one))
        expect(new Set(twice['env'] as object[])).toEqual(new Set(once['env'] as object[]))
      }),
    )
  })

  it('merges scalars as sets', () => {
    fc.assert(
      fc.property(names, names, names, (live, set, deleted) => {
        fc.pre(live.length > 0)
        const patch = { metadata: { finalizers: set, '$deleteFromPrimitiveList/finalizers': deleted } }
        const { metadata } = patchPod({ metadata: { finalizers: live } }, patch) as {
          metadata: { finalizers: string[] }
        }
        const expected = new Set([...live, ...set].filter((name) => !deleted.includes(name)))
        expect(new Set(metadata.finalizers)).toEqual(expected)
        expect(metadata.finalizers).toHaveLength(expected.size)
      }),
    )
  })
})
