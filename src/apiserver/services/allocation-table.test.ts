import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { AllocationTable, CLAIM_LIFE_MS } from './allocation-table.ts'
import { ServiceRange } from './ip-range.ts'

describe('an allocation table', () => {
  it('lets somebody who asks by name take over an offer; whoever lost it cannot confirm', () => {
    const table = new AllocationTable<number>(new ManualClock())
    table.offer(1, 'a')
    expect([table.isFree(1), table.isAvailable(1, 'b')]).toEqual([false, true])
    table.offer(1, 'b')
    expect([table.confirm(1, 'a'), table.confirm(1, 'b')]).toEqual([false, true])
    expect(table.isAvailable(1, 'c')).toBe(false)
  })

  it('forgets claims that came to nothing', async () => {
    const clock = new ManualClock()
    const table = new AllocationTable<number>(clock)
    table.confirm(1, 'a')
    await clock.advance(CLAIM_LIFE_MS - 1)
    expect(table.isFree(1)).toBe(false)
    await clock.advance(1)
    expect(table.isFree(1)).toBe(true)
  })

  it('never confirms one value for two owners while claims live, whatever happens in between', () => {
    const step = fc.record({
      action: fc.constantFrom('offer', 'confirm', 'store', 'remove'),
      owner: fc.constantFrom('a', 'b', 'c'),
      value: fc.integer({ min: 1, max: 2 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const table = new AllocationTable<number>(new ManualClock())
        /** Who was told that a value is theirs and may store it. */
        const promised = new Map<number, string>()
        for (const { action, owner, value } of steps) {
          if (action === 'offer' && table.isAvailable(value, owner)) table.offer(value, owner)
          if (action === 'confirm' && table.confirm(value, owner)) {
            expect(promised.get(value) ?? owner).toBe(owner)
            promised.set(value, owner)
          }
          if (action === 'store' && promised.get(value) === owner) table.hold(owner, [value])
          if (action === 'remove' && promised.get(value) === owner && !table.isFree(value)) {
            const kept = [...promised].filter(([other, holder]) => holder === owner && other !== value)
            table.hold(owner, [...kept.map(([other]) => other), value])
            table.hold(
              owner,
              kept.map(([other]) => other),
            )
            promised.delete(value)
          }
        }
      }),
    )
  })
})

describe('a service range', () => {
  it('is written in its canonical form and knows its first address', () => {
    const range = new ServiceRange('10.96.3.4/16')
    expect([range.cidr, range.first]).toEqual(['10.96.0.0/16', '10.96.0.1'])
  })

  it.each(['10.96.0.0', '10.96.0.0/7', '10.96.0.0/31', 'fd00::/108', '10.96.0/16', '10.96.0.0/1x'])(
    'is not %s',
    (cidr) => {
      expect(() => new ServiceRange(cidr)).toThrow(`the service range "${cidr}" is not an IPv4 range`)
    },
  )

  it('gives every address but the first and the last of it, the lower ones at the end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 22, max: 30 }), (bits) => {
        const range = new ServiceRange(`10.0.0.0/${bits}`)
        const taken = new Set<string>()
        for (let next = range.pick((each) => !taken.has(each)); next !== undefined; ) {
          expect(range.contains(next)).toBe(true)
          taken.add(next)
          next = range.pick((each) => !taken.has(each))
        }
        expect(taken.size).toBe(2 ** (32 - bits) - 2)
        if (bits <= 26) expect([...taken].indexOf(range.first)).toBeGreaterThan(taken.size / 2)
      }),
      { numRuns: 10 },
    )
  })
})
