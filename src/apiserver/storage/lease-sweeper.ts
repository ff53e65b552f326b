/**
 * Deletes entries whose lease has run out, for stores that keep time themselves. Each goes by an ordinary transaction on
 * the condition that it has not been written since, so a renewal and an expiry at the same moment cannot both win.
 */
import type { Clock } from '../../runtime/clock.ts'
import type { Condition, Transaction, TransactionResult } from './store.ts'

/** Leases are counted in seconds; nobody needs their end sooner. */
export const SWEEP_INTERVAL_MS = 1_000
/** What one sweep deletes at most; the rest waits for the next one, so that a crowd of expiries cannot crowd out writers. */
export const MAX_SWEPT_ENTRIES = 500

export interface LeaseHolder {
  /** Entries that expired at or before `nowMs`, the earliest first, each with the revision it was written at. */
  expired(nowMs: number, limit: number): readonly Condition[]
  commit(transaction: Transaction): Promise<TransactionResult>
}

export class LeaseSweeper {
  readonly #clock: Clock
  readonly #holder: LeaseHolder
  #cancel: () => void
  #stopped = false

  constructor(clock: Clock, holder: LeaseHolder) {
    this.#clock = clock
    this.#holder = holder
    this.#cancel = this.#scheduleSweep()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #scheduleSweep(): () => void {
    return this.#clock.schedule(SWEEP_INTERVAL_MS, () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    try {
      const due = this.#holder.expired(this.#clock.nowMs(), MAX_SWEPT_ENTRIES)
      // A store that cannot delete now, because its disk is full say, will be asked again; its other callers hear of it.
      await Promise.allSettled(due.map((condition) => this.#holder.commit(deletionOf(condition))))
    } finally {
      if (!this.#stopped) this.#cancel = this.#scheduleSweep()
    }
  }
}

function deletionOf(condition: Condition): Transaction {
  return { conditions: [condition], writes: [{ type: 'delete', key: condition.key }] }
}
