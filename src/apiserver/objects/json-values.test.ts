import { expect, it } from 'vitest'
import { countJsonValues } from './json-values.ts'

it.each([
  ['1', 1],
  ['{}', 2],
  ['[1,2,3]', 4],
  ['{"a":[{},{}],"b":"x,y{[\\",{"}', 7],
  ['"\\\\",[', 3],
  ['', 1],
])('in %s counts %i', (text, count) => {
  expect(countJsonValues(Buffer.from(text), 100)).toBe(count)
})

it('counts no further than anybody wants to know', () => {
  expect(countJsonValues(Buffer.from(`[${'1,'.repeat(1_000)}1]`), 10)).toBe(11)
})
