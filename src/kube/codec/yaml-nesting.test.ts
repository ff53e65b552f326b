import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { excessiveNestingAt, MAX_YAML_NESTING } from './yaml-nesting.ts'

const shapes: readonly (readonly [string, (depth: number) => string])[] = [
  ['brackets', (depth) => `a: ${'['.repeat(depth)}`],
  ['brackets that end', (depth) => `a: ${'['.repeat(depth)}${']'.repeat(depth)}`],
  ['braces', (depth) => '{a: '.repeat(depth)],
  ['brackets with others in quotes', (depth) => `a: ${'["]", '.repeat(depth)}`],
  ['brackets with others in comments', (depth) => `a: ${' [ #]\n '.repeat(depth)}`],
  ['pairs', (depth) => '[{'.repeat(depth)],
  ['lists in one line', (depth) => `${'- '.repeat(depth)}x`],
  ['keys of keys', (depth) => `${'? '.repeat(depth)}x`],
  ['indented maps', (depth) => Array.from({ length: depth }, (_, level) => `${' '.repeat(level)}a:`).join('\n')],
  ['indented lists', (depth) => Array.from({ length: depth }, (_, level) => `${' '.repeat(level)}-`).join('\n')],
]

describe('nesting of YAML', () => {
  it.each(shapes)('is found excessive: %s', (_name, shape) => {
    for (const depth of [MAX_YAML_NESTING + 1, 3_000, 6_000]) expect(excessiveNestingAt(shape(depth))).toBeDefined()
  })

  it.each(shapes)('is left alone where it is half of what is allowed: %s', (_name, shape) => {
    expect(excessiveNestingAt(shape(MAX_YAML_NESTING / 2 - 10))).toBeUndefined()
  })

  it('is not what stands side by side, in a text or in a comment', () => {
    const text = `# ${'['.repeat(5_000)}\na: "${'{'.repeat(5_000)}"\nb: |\n  ${'- '.repeat(5_000)}\nc: [${'[],'.repeat(5_000)}]\n`
    expect(excessiveNestingAt(text)).toBeUndefined()
    expect((parse(text) as { c: unknown[] }).c).toHaveLength(5_000)
  })

  it('is told with its place', () => {
    const text = `a: 1\nb: ${'['.repeat(6_000)}`
    const at = excessiveNestingAt(text) ?? 0
    expect(at).toBeGreaterThan(MAX_YAML_NESTING)
    expect(at).toBeLessThan(2 * MAX_YAML_NESTING)
  })
})
