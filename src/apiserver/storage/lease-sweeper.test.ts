import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { LeaseSweeper, MAX_SWEPT_ENTRIES, SWEEP_INTERVAL_MS } from './lease-sweeper.ts'
import type { Condition, Transaction, TransactionResult } from './store.ts'

const DUE: Condition = { key: 'a', modRevision: 7 }

function sweep(commit: (transaction: Transaction) => Promise<TransactionResult>) {
  const clock = new ManualClock()
  const asked: { nowMs: number; limit: number }[] = []
  const expired = (nowMs: number, limit: number): Condition[] => {
    asked.push({ nowMs, limit })
    return [DUE]
  }
  return { clock, asked, sweeper: new LeaseSweeper(clock, { expired, commit }) }
}

describe('LeaseSweeper', () => {
  it('deletes what has expired, unless it has been written since', async () => {
    const transactions: Transaction[] = []
    const { clock, asked } = sweep(async (transaction) => {
      transactions.push(transaction)
      return { committed: true, revision: 8 }
    })
    await clock.advance(SWEEP_INTERVAL_MS)
    expect(asked).toEqual([{ nowMs: clock.nowMs(), limit: MAX_SWEPT_ENTRIES }])
    expect(transactions).toEqual([{ conditions: [DUE], writes: [{ type: 'delete', key: 'a' }] }])
  })

  it('tries again when the store cannot delete now', async () => {
    const { clock, asked } = sweep(() => Promise.reject(new Error('the disk is full')))
    await clock.advance(3 * SWEEP_INTERVAL_MS)
    expect(asked).toHaveLength(3)
  })

  it('begins no sweep while one is under way, nor after it was stopped', async () => {
    let finish: (result: TransactionResult) => void = () => undefined
    const { clock, asked, sweeper } = sweep(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    await clock.advance(5 * SWEEP_INTERVAL_MS)
    expect(asked).toHaveLength(1)
    sweeper.stop()
    finish({ committed: true, revision: 8 })
    await clock.advance(5 * SWEEP_INTERVAL_MS)
    expect(asked).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })
})
