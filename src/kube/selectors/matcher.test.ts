import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type FieldTerm, fieldSelector, matchesFields, NO_FIELD } from './field.ts'
import { labelSelector, matchesLabels, NO_LABEL } from './label.ts'
import { type LabelOperator, labelRequirement } from './label-requirement.ts'
import { fieldMatcher, labelMatcher } from './matcher.ts'

const key = fc.constantFrom('a', 'b', 'c')
const value = fc.constantFrom('', '1', '2', 'x')
const number = fc.constantFrom('0', '1', '2')
const labels = fc.dictionary(key, value)

const operators = fc.constantFrom<LabelOperator>('=', '==', '!=', 'in', 'notin', 'exists', '!', 'gt', 'lt')
const requirement = fc
  .tuple(key, operators, value, fc.array(value, { minLength: 1, maxLength: 3 }), number)
  .map(([name, operator, one, several, bound]) => {
    if (operator === 'exists' || operator === '!') return labelRequirement(name, operator, [])
    if (operator === 'in' || operator === 'notin') return labelRequirement(name, operator, several)
    return labelRequirement(name, operator, [operator === 'gt' || operator === 'lt' ? bound : one])
  })

it('matches the labels that the selector matches', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), labels, (requirements, given) => {
      const selector = labelSelector(requirements)
      expect(labelMatcher(selector)(new Map(Object.entries(given)))).toBe(matchesLabels(selector, given))
    }),
    { numRuns: 5000 },
  )
})

const term: fc.Arbitrary<FieldTerm> = fc.record({
  field: key,
  operator: fc.constantFrom('=' as const, '!=' as const),
  value,
})

it('matches the fields that the selector matches', () => {
  fc.assert(
    fc.property(fc.array(term, { maxLength: 5 }), labels, (terms, given) => {
      const selector = fieldSelector(terms)
      const get = (field: string): string => given[field] ?? ''
      expect(fieldMatcher(selector)(get)).toBe(matchesFields(selector, get))
    }),
    { numRuns: 5000 },
  )
})

it('matches nothing where the selector does', () => {
  expect([labelMatcher(NO_LABEL)(new Map()), fieldMatcher(NO_FIELD)(() => '')]).toEqual([false, false])
})
