import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sameStored, sameValue } from './equality.ts'

describe('equality', () => {
  it.each([
    [undefined, []],
    [null, undefined],
    [{ a: undefined }, {}],
    [{ a: [] }, {}],
  ])('of %j and %j holds in both forms', (left, right) => {
    expect(sameStored(left, right)).toBe(true)
    expect(sameValue(left, right)).toBe(true)
  })

  it.each([
    [undefined, {}],
    [{ a: { b: 0 } }, {}],
    [{ a: '' }, {}],
    [{ a: false }, {}],
  ])('of %j and %j holds for people only', (left, right) => {
    expect(sameValue(left, right)).toBe(true)
    expect(sameStored(left, right)).toBe(false)
  })

  it('is reflexive, symmetric, and stricter for stored objects', () => {
    const value = fc.jsonValue()
    fc.assert(
      fc.property(value, value, (left, right) => {
        expect(sameStored(left, structuredClone(left))).toBe(true)
        expect(sameStored(left, right)).toBe(sameStored(right, left))
        if (sameStored(left, right)) expect(sameValue(left, right)).toBe(true)
      }),
    )
  })
})
