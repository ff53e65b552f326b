/**
 * Requests that can be read in two ways, put to the real kube-apiserver and to ours: who may send them, and what they show or
 * change. What differs on purpose is in `readings-known.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeReal } from './harness.ts'
import { IMPERSONATIONS } from './readings-impersonation.ts'
import { KNOWN, type Known } from './readings-known.ts'
import { METHODS, OLD_PATHS, PATHS } from './readings-paths.ts'
import { NODE_QUERIES, QUERIES } from './readings-queries.ts'
import { SIGHT, startReadings } from './readings-world.ts'
import { CREATIONS, DELETIONS, UPDATES } from './readings-writes.ts'
import { describeDifference, differenceOf } from './twin-answers.ts'
import type { Asked, Twins } from './twins.ts'

const atOnce = 16

describeReal('readings of one request', () => {
  let twins: Twins
  const seen = new Set<Known>()

  beforeAll(async () => {
    twins = await startReadings()
  })

  afterAll(() => twins?.stop())

  async function compare(asked: Asked): Promise<string[]> {
    const difference = await differenceOf(twins, asked, SIGHT)
    if (difference === undefined) return []
    const known = KNOWN.find((each) => each.matches(asked, difference))
    if (known === undefined) return [describeDifference(asked, difference)]
    seen.add(known)
    return []
  }

  async function compareAll(cases: readonly Asked[], workers: number): Promise<string[]> {
    const rest = [...cases]
    const differences: string[] = []
    const work = async (): Promise<void> => {
      for (let asked = rest.shift(); asked !== undefined; asked = rest.shift())
        differences.push(...(await compare(asked)))
    }
    await Promise.all(Array.from({ length: workers }, work))
    return differences
  }

  it.each([
    ['paths', PATHS],
    ['the old paths of watches and proxies', OLD_PATHS],
    ['methods', METHODS],
    ['queries', QUERIES],
    ['queries of nodes', NODE_QUERIES],
    ['impersonated names', IMPERSONATIONS],
    ['deletions that nobody carries out', DELETIONS],
    ['creations that nobody carries out', CREATIONS],
  ])('agree: %s', async (_, cases) => {
    const differences = await compareAll(cases, atOnce)
    expect(differences.join('\n')).toBe('')
  })

  describe('of an update that may create', () => {
    it.each(UPDATES)('agree: %s', async (_, cases) => {
      const differences = await compareAll(cases, 1)
      expect(differences.join('\n')).toBe('')
    })
  })

  it('still differ where they are known to', () => {
    expect(KNOWN.filter((each) => !seen.has(each)).map(({ why }) => why)).toEqual([])
  })
})
