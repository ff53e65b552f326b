import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quantityInNano } from '../kinds/quantities.ts'
import { addTotals, formatTotals, raiseTotals, Total, type Totals, totalsOf } from './totals.ts'

const quantity = fc
  .tuple(fc.nat(100_000), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi'))
  .map(([amount, suffix]) => `${amount}${suffix}`)
const sum = (...texts: string[]): string => texts.map((text) => Total.of(text)).reduce((all, one) => all.plus(one)).text

describe('a sum', () => {
  it.each([
    ['500m', '500m', '1'],
    ['512Mi', '512Mi', '1Gi'],
    ['512Mi', '100M', '636870912'],
    ['100M', '512Mi', '636870912'],
    ['0', '1Gi', '1Gi'],
    ['1Gi', '0', '1Gi'],
    ['1Ki', '1', '1025'],
    ['1500m', '1Gi', '1073741825500m'],
  ])('%s + %s = %s', (left, right, total) => {
    expect(sum(left, right)).toBe(total)
  })

  it('is exact, and never forgets how its first amount was written', () => {
    fc.assert(
      fc.property(fc.array(quantity, { minLength: 1 }), (texts) => {
        const nano = texts.reduce((all, text) => all + quantityInNano(text), 0n)
        expect(quantityInNano(sum(...texts))).toBe(nano)
      }),
    )
    expect(sum('1Ki', '1', '1023')).toBe('2Ki')
  })

  it('of equal amounts is a product', () => {
    expect([Total.of('1').times(1).text, Total.of('2').times(3).text]).toEqual(['1', '6'])
  })
})

it('takes the sum, the most and the difference', () => {
  const [left, right] = [
    totalsOf({ a: { cpu: '1', memory: '1Gi' } }, 'a'),
    totalsOf({ a: { cpu: '2', pods: '3' } }, 'a'),
  ]
  const [sums, most] = [new Map(left), new Map(left)]
  addTotals(sums, right)
  raiseTotals(most, right)
  expect(shown(sums)).toEqual({ cpu: '3', memory: '1Gi', pods: '3' })
  expect(shown(most)).toEqual({ cpu: '2', memory: '1Gi', pods: '3' })
  const [one, two] = [Total.of('1'), Total.of('2')]
  expect([one.minus(two).text, two.minus(one).text, one.minus(Total.of('0')).text]).toEqual(['0', '1', '1'])
})

it('prints in order of names, canonical', () => {
  expect(formatTotals(totalsOf({ a: { pods: '1', cpu: '1000m' } }, 'a'))).toBe('cpu=1,pods=1')
})

function shown(totals: Totals): Record<string, string> {
  return Object.fromEntries([...totals].map(([name, { text }]) => [name, text]))
}
