import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalQuantity } from '../../kube/codec/quantity.ts'
import { checkQuantity, compareQuantities, quantityInNano, roundedQuantity } from './quantities.ts'

const suffixes = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'E-3']
const anyQuantity = fc
  .tuple(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 999 }), fc.constantFrom(...suffixes))
  .map(([whole, fraction, suffix]) => `${whole}.${fraction}${suffix}`)

describe('quantities', () => {
  it('keep their amount when they are written canonically', () => {
    fc.assert(
      fc.property(anyQuantity, (quantity) => {
        const canonical = canonicalQuantity(quantity)
        expect(canonical).toBeDefined()
        expect(compareQuantities(canonical ?? '', quantity)).toBe(0)
      }),
    )
  })

  it('are rounded up by less than a thousandth, once', () => {
    fc.assert(
      fc.property(anyQuantity, (quantity) => {
        const rounded = roundedQuantity(quantity)
        const difference = quantityInNano(rounded) - quantityInNano(quantity)
        expect(difference >= 0n && difference < 1_000_000n).toBe(true)
        expect(roundedQuantity(rounded)).toBe(rounded)
      }),
    )
  })

  it.each([
    ['1', '1000m', 0],
    ['1Ki', '1k', 1],
    ['-1', '0', -1],
    ['1e3', '1k', 0],
  ])('compares %s with %s', (left, right, order) => {
    expect(compareQuantities(left, right)).toBe(order)
  })

  it('counts things in whole numbers', () => {
    expect(checkQuantity('pods', '1.5', 'p').map(({ detail }) => detail)).toEqual(['must be an integer'])
    expect(checkQuantity('example.com/gpu', '500m', 'p')).toHaveLength(1)
    expect(checkQuantity('cpu', '500m', 'p')).toEqual([])
  })
})
