import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { specDifference } from './spec-difference.ts'

const anySpec = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), fc.oneof(fc.integer(), fc.array(fc.boolean())))
const lines = (value: unknown): string[] => JSON.stringify(value, null, 1).split('\n')

describe('the difference of specs', () => {
  it('is empty for equal ones', () => {
    fc.assert(fc.property(anySpec, (spec) => specDifference(spec, structuredClone(spec)) === ''))
  })

  it('turns one into the other', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (before, after) => {
        expect(patch(lines(before), specDifference(before, after))).toEqual(lines(after))
      }),
    )
  })

  it('shows three lines around a change', () => {
    const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9 }
    expect(specDifference(before, { ...before, e: 0 })).toBe(
      '@@ -3,7 +3,7 @@\n  "b": 2,\n  "c": 3,\n  "d": 4,\n- "e": 5,\n+ "e": 0,\n  "f": 6,\n  "g": 7,\n  "h": 8,\n',
    )
  })
})

/** Applies a unified diff, hunk by hunk. */
function patch(before: readonly string[], difference: string): string[] {
  const result: string[] = []
  let position = 0
  for (const line of difference.split('\n').slice(0, -1)) {
    const start = /^@@ -(\d+)/.exec(line)?.[1]
    if (start !== undefined) {
      result.push(...before.slice(position, Number(start) - 1))
      position = Number(start) - 1
    } else if (line.startsWith('+')) result.push(line.slice(1))
    else {
      expect(before[position]).toBe(line.slice(1))
      if (line.startsWith(' ')) result.push(line.slice(1))
      position++
    }
  }
  return [...result, ...before.slice(position)]
}
