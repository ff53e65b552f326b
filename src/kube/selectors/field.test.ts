import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkSelectableFields,
  EVERY_FIELD,
  escapeFieldValue,
  type FieldSelector,
  type FieldTerm,
  fieldSelector,
  fieldSelectorKey,
  formatFieldSelector,
  isEmptyFieldSelector,
  matchesFields,
  NO_FIELD,
  parseFieldSelector,
  requiresExactMatch,
  unescapeFieldValue,
} from './field.ts'
import { MAX_SELECTOR_LENGTH, MAX_SELECTOR_REQUIREMENTS } from './limits.ts'

const hostileRuns = process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1000

describe('parsing', () => {
  test.each<[string, FieldTerm[]]>([
    ['', []],
    [',,', []],
    ['a=b', [{ field: 'a', operator: '=', value: 'b' }]],
    ['a==b', [{ field: 'a', operator: '=', value: 'b' }]],
    ['a!=b', [{ field: 'a', operator: '!=', value: 'b' }]],
    ['a=', [{ field: 'a', operator: '=', value: '' }]],
    ['=,!=', []],
    ['=a', [{ field: '', operator: '=', value: 'a' }]],
    ['a!b=c', [{ field: 'a!b', operator: '=', value: 'c' }]],
    ['a=!b', [{ field: 'a', operator: '=', value: '!b' }]],
    [String.raw`a=b\,c\=d\\e`, [{ field: 'a', operator: '=', value: String.raw`b,c=d\e` }]],
    [
      'b=2,a=1',
      [
        { field: 'a', operator: '=', value: '1' },
        { field: 'b', operator: '=', value: '2' },
      ],
    ],
    ['a= b\n', [{ field: 'a', operator: '=', value: ' b\n' }]],
  ])('%j', (text, terms) => {
    expect(parseFieldSelector(text)).toEqual({ matches: 'terms', terms })
  })

  test.each([
    ['abc', "invalid selector: 'abc'; can't understand 'abc'"],
    ['a=b,c', "invalid selector: 'a=b,c'; can't understand 'c'"],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    [String.raw`a=b\x`, String.raw`invalid field selector: invalid escape sequence: \x`],
    [String.raw`a=b\😀`, String.raw`invalid field selector: invalid escape sequence: \😀`],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('%j is refused', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ code: 400, message }))
  })

  test('limits', () => {
    expect(() => parseFieldSelector('a'.repeat(MAX_SELECTOR_LENGTH + 1))).toThrow(/at most 65536/)
    expect(() => parseFieldSelector('a=b,'.repeat(MAX_SELECTOR_REQUIREMENTS + 1))).toThrow(/more than 1024/)
  })

  test('any text is either refused with a 400 or reads back from its own form', () => {
    const piece = fc.constantFrom('a', 'b', '=', '!', ',', '\\', ' ', 'ü', '\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        let selector: FieldSelector
        try {
          selector = parseFieldSelector(pieces.join(''))
        } catch (error) {
          expect(error).toMatchObject({ code: 400, reason: 'BadRequest' })
          return
        }
        const again = parseFieldSelector(formatFieldSelector(selector))
        expect(fieldSelectorKey(again)).toBe(fieldSelectorKey(selector))
      }),
      { numRuns: hostileRuns },
    )
  })
})

describe('selectors', () => {
  test('parse(format(x)) is x', () => {
    fc.assert(
      fc.property(fc.array(fieldTerms()), (terms) => {
        const selector = fieldSelector(terms)
        expect(parseFieldSelector(formatFieldSelector(selector))).toEqual(selector)
        expect(new Set(termsOf(selector))).toEqual(new Set(terms))
      }),
    )
  })

  test('escaping is undone by unescaping', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        expect(unescapeFieldValue(escapeFieldValue(value))).toBe(value)
      }),
    )
  })

  test('matching agrees with a plain reading of the terms', () => {
    const small = fc.record({
      field: fc.constantFrom('a', 'b'),
      operator: fc.constantFrom('=' as const, '!=' as const),
      value: fc.constantFrom('', 'x', 'y'),
    })
    const object = fc.record({ a: fc.constantFrom('', 'x', 'y'), b: fc.constantFrom('', 'x', 'y') })
    fc.assert(
      fc.property(fc.array(small, { maxLength: 4 }), object, (terms, fields) => {
        const get = (field: string): string => fields[field as 'a' | 'b']
        const failing = terms.filter(({ field, operator, value }) =>
          operator === '=' ? get(field) !== value : get(field) === value,
        )
        expect(matchesFields(fieldSelector(terms), get)).toBe(failing.length === 0)
      }),
    )
  })

  test('everything and nothing', () => {
    expect(matchesFields(EVERY_FIELD, () => '')).toBe(true)
    expect(matchesFields(NO_FIELD, () => '')).toBe(false)
    expect([isEmptyFieldSelector(EVERY_FIELD), isEmptyFieldSelector(NO_FIELD)]).toEqual([true, false])
    expect(fieldSelectorKey(EVERY_FIELD)).not.toBe(fieldSelectorKey(NO_FIELD))
    expect(requiresExactMatch(NO_FIELD, 'a')).toBeUndefined()
  })

  test('an exact match is found behind other terms', () => {
    const selector = parseFieldSelector('metadata.name!=x,metadata.name==y,status.phase=Running')
    expect(requiresExactMatch(selector, 'metadata.name')).toBe('y')
    expect(requiresExactMatch(parseFieldSelector('metadata.name!=x'), 'metadata.name')).toBeUndefined()
  })

  test.each(['a=b', 'a,b', 'a\\', 'a!'])('%j cannot be a field', (field) => {
    expect(() => fieldSelector([{ field, operator: '=', value: '' }])).toThrow(/cannot be part of a field selector/)
  })

  test('fields that a resource does not offer', () => {
    const selector = parseFieldSelector('metadata.name=a,abc=d')
    expect(() => checkSelectableFields(selector, [])).toThrow(
      '"abc" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )
    expect(() => checkSelectableFields(selector, ['status.phase'])).toThrow('field label not supported: abc')
    expect(() => checkSelectableFields(selector, ['abc'])).not.toThrow()
    expect(() => checkSelectableFields(NO_FIELD, [])).not.toThrow()
  })
})

function termsOf(selector: FieldSelector): readonly FieldTerm[] {
  return selector.matches === 'terms' ? selector.terms : []
}

function fieldTerms(): fc.Arbitrary<FieldTerm> {
  return fc.record({
    field: fc.constantFrom('metadata.name', 'status.phase', 'spec.a!b'),
    operator: fc.constantFrom('=' as const, '!=' as const),
    value: fc.string({ unit: 'grapheme' }),
  })
}
