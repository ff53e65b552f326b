import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quantityInNano } from '../kinds/quantities.ts'
import { addAmounts, addQuantities, formatAmounts, growth, maxAmounts } from './amounts.ts'

const quantity = fc
  .tuple(fc.nat(100_000), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi'))
  .map(([amount, suffix]) => `${amount}${suffix}`)

describe('addQuantities', () => {
  it.each([
    ['500m', '500m', '1'],
    ['512Mi', '512Mi', '1Gi'],
    ['512Mi', '100M', '636870912'],
    ['100M', '512Mi', '636870912'],
    ['0', '1Gi', '1Gi'],
    ['1Gi', '0', '1Gi'],
    ['1Ki', '1', '1025'],
    ['1500m', '1Gi', '1073741825500m'],
  ])('%s + %s = %s', (left, right, sum) => {
    expect(addQuantities(left, right)).toBe(sum)
  })

  it('adds the exact amounts', () => {
    fc.assert(
      fc.property(quantity, quantity, (left, right) => {
        expect(quantityInNano(addQuantities(left, right))).toBe(quantityInNano(left) + quantityInNano(right))
      }),
    )
  })
})

it('takes the sum, the most and the growth of each resource', () => {
  const [left, right] = [
    { cpu: '1', memory: '1Gi' },
    { cpu: '2', pods: '3' },
  ]
  expect(addAmounts(left, right)).toEqual({ cpu: '3', memory: '1Gi', pods: '3' })
  expect(maxAmounts(left, right)).toEqual({ cpu: '2', memory: '1Gi', pods: '3' })
  expect(growth(left, right)).toEqual({ cpu: '0', memory: '1Gi' })
})

it('prints in order of names, canonical', () => {
  expect(formatAmounts({ pods: '1', cpu: '1000m' })).toBe('cpu=1,pods=1')
})
