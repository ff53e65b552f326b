import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_ACCEPT_CLAUSES, MAX_ACCEPT_LENGTH, parseAccept } from './media-type-accept.ts'

function summary(header: string): string[] {
  return parseAccept(header).map(({ type, subtype, quality, parameters }) =>
    [`${type}/${subtype}`, `q=${quality}`, ...[...parameters].map(([name, value]) => `${name}=${value}`)].join(';'),
  )
}

test.each<[string, string[]]>([
  ['', []],
  ['application/json', ['application/json;q=1']],
  ['a/b;q=0.5, c/d', ['c/d;q=1', 'a/b;q=0.5']],
  ['a/b, c/d', ['a/b;q=1', 'c/d;q=1']],
  ['*/*, a/b', ['a/b;q=1', '*/*;q=1']],
  ['a/*, a/b', ['a/b;q=1', 'a/*;q=1']],
  ['*', ['*/*;q=1']],
  ['a/b;q=0', ['a/b;q=0']],
  ['a/b;q=x, c/d;q=0.1', ['c/d;q=0.10000000149011612', 'a/b;q=0']],
  ['a/b;q= 0.5', ['a/b;q=0']],
  ['a/b;q=inf', ['a/b;q=Infinity']],
  ['a/b; as=Table ;v=v1', ['a/b;q=1;as=Table;v=v1']],
  ['a/b;x;y=;z=1=2;w=3=', ['a/b;q=1;w=3']],
  ['A/B', ['A/B;q=1']],
  ['a, a/, /b, a/b/c, a/b/', ['/b;q=1', 'a/b;q=1']],
  ['a/b;x="1,c/d"', ['a/b;q=1;x="1', 'c/d";q=1']],
])('%j', (header, clauses) => {
  expect(summary(header)).toEqual(clauses)
})

test('a concrete type overtakes a better wildcard only from behind', () => {
  expect(summary('*/*, a/b;q=0.5')).toEqual(['a/b;q=0.5', '*/*;q=1'])
  expect(summary('a/b;q=0.5, */*')).toEqual(['*/*;q=1', 'a/b;q=0.5'])
})

test('limits', () => {
  expect(() => parseAccept('a'.repeat(MAX_ACCEPT_LENGTH + 1))).toThrow(/at most 8192/)
  expect(() => parseAccept('a/b,'.repeat(MAX_ACCEPT_CLAUSES + 1))).toThrow(/at most 64/)
})

test('without wildcards the order is by quality, then as given', () => {
  const clause = fc.tuple(fc.constantFrom('a/b', 'c/d', 'e/f'), fc.constantFrom(0.25, 0.5, 1))
  fc.assert(
    fc.property(fc.array(clause, { maxLength: 8 }), (clauses) => {
      const header = clauses.map(([type, quality]) => `${type};q=${quality}`).join(',')
      const expected = clauses
        .toSorted(([, one], [, other]) => other - one)
        .map(([type, quality]) => `${type};q=${quality}`)
      expect(summary(header)).toEqual(expected)
    }),
  )
})
