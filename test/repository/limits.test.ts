/** docs/limits.md says what the sources say, and every limit has a reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findLimits, renderLimits } from '../../tools/limits/limits.ts'
import { readRecord } from '../stall/record.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

function limitsInSources() {
  return readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `src/${name}`)
    .sort()
    .flatMap((file) => findLimits(file, readFileSync(root + file, 'utf8')))
}

describe('docs/limits.md', () => {
  it('is up to date (npm run generate:limits)', () => {
    expect(readFileSync(`${root}docs/limits.md`, 'utf8')).toBe(renderLimits(limitsInSources(), readRecord()))
  })

  it('gives a reason for every limit', () => {
    expect(
      limitsInSources()
        .filter(({ reason }) => reason === '')
        .map(({ name, file }) => `${file}: ${name}`),
    ).toEqual([])
  })

  it('reads values, units and comments', () => {
    const source =
      '/** Why. */\nexport const MAX_A_BYTES = 2 * 1024 * 1024\nexport const SAME_MS = 1_500\n\nexport const PLAIN = 3\nexport const OP_X = 1\n'
    const limits = findLimits('src/a/b.ts', source)
    expect(limits).toEqual([
      { name: 'MAX_A_BYTES', value: 2_097_152, reason: 'Why.', file: 'src/a/b.ts' },
      { name: 'SAME_MS', value: 1500, reason: 'Why.', file: 'src/a/b.ts' },
      { name: 'PLAIN', value: 3, reason: '', file: 'src/a/b.ts' },
    ])
    expect(renderLimits(limits, {})).toContain('| `MAX_A_BYTES` | 2 MiB | Why. |')
  })

  it('reads limits that no other file needs, and takes private facts without a comment for none', () => {
    const source =
      '/** Why. */\nconst PRIVATE_MS = 1_500\nconst SAME_MS = 3\n\nconst TAG = 2\nconst MAX_TAGS = 3\n  const INNER_MS = 4\n'
    expect(findLimits('src/a/b.ts', source)).toEqual([
      { name: 'PRIVATE_MS', value: 1500, reason: 'Why.', file: 'src/a/b.ts' },
      { name: 'SAME_MS', value: 3, reason: 'Why.', file: 'src/a/b.ts' },
      { name: 'MAX_TAGS', value: 3, reason: '', file: 'src/a/b.ts' },
    ])
  })
})
