import { expect, it } from 'vitest'
import { goPrint, goPrintString, goTypeName } from './go-value.ts'

it.each<[string, unknown]>([
  ['<nil>', null],
  ['x y', 'x y'],
  ['true', true],
  ['-3', -3],
  ['1000000', 1_000_000],
  ['9007199254740993', 9007199254740993n],
  ['1.2345678901234568e+20', 123456789012345678901n],
  ['1.5', 1.5],
  ['0.0001', 0.0001],
  ['1e-05', 0.00001],
  ['1.234567895e+08', 123456789.5],
  ['1e+21', 1e21],
  ['map[]', {}],
  ['map[a:map[B:1 b:3 é:2] b:[1 x <nil>]]', { b: [1, 'x', null], a: { B: 1, é: 2, b: 3 } }],
])('prints %s', (text, value) => {
  expect(goPrint(value)).toBe(text)
})

it('marks what is no string', () => {
  expect(goPrintString('s')).toBe('s')
  expect(goPrintString(5)).toBe('%!s(int64=5)')
  expect(goPrintString(1.5)).toBe('%!s(float64=1.5)')
  expect(goPrintString(true)).toBe('%!s(bool=true)')
  expect(goPrintString(null)).toBe('%!s(<nil>)')
})

it('names types', () => {
  const values = [null, [], {}, '', true, 1, 1.5, 2n ** 63n, 2n ** 63n - 1n]
  expect(values.map(goTypeName)).toEqual([
    '%!s(<nil>)',
    '[]interface {}',
    'map[string]interface {}',
    'string',
    'bool',
    'int64',
    'float64',
    'float64',
    'int64',
  ])
})
