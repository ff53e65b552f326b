import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../runtime/clock.ts'
import { LeasePool, MAX_ENTRIES_PER_LEASE } from './lease-pool.ts'

function poolWithGrants() {
  const clock = new ManualClock()
  const granted: number[] = []
  const pool = new LeasePool(clock, async (seconds) => granted.push(seconds))
  return { clock, granted, pool }
}

describe('LeasePool', () => {
  it('shares a lease among entries of the same life, and makes it longer by the time in which it is shared', async () => {
    const { clock, granted, pool } = poolWithGrants()
    expect(await pool.lease(3600)).toBe(await pool.lease(3600))
    await clock.advance(60_000)
    expect(await pool.lease(3600)).toBe(1)
    await clock.advance(1)
    expect(await pool.lease(3600)).toBe(2)
    expect(await pool.lease(60)).toBe(3)
    expect(granted).toEqual([3660, 3660, 63])
  })

  it('does not hang too much on one lease', async () => {
    const { granted, pool } = poolWithGrants()
    for (let count = 0; count < MAX_ENTRIES_PER_LEASE; count++) await pool.lease(3600)
    expect(granted).toHaveLength(1)
    await pool.lease(3600)
    expect(granted).toHaveLength(2)
  })

  it('asks again after a failure and after it was told to forget', async () => {
    let attempts = 0
    const pool = new LeasePool(new ManualClock(), async () => {
      attempts++
      if (attempts === 1) throw new Error('no etcd')
      return attempts
    })
    await expect(pool.lease(10)).rejects.toThrow('no etcd')
    expect(await pool.lease(10)).toBe(2)
    pool.forgetAll()
    expect(await pool.lease(10)).toBe(3)
  })
})
