/**
 * Leases for entries that expire. Each lease is a burden on etcd, so entries of the same life that are written within a
 * short time share one; the lease is that much longer, and nobody expires early.
 */
import type { Clock } from '../../../runtime/clock.ts'

/** A lease is shared by entries written within this part of its life. */
const SHARED_PART = 0.05
/** However long a lease lives, its entries were written within a minute: none outlives its own time by more. */
const MAX_SHARED_SECONDS = 60
/** When a lease runs out etcd deletes all that hangs on it at once, which must not become too much. */
export const MAX_ENTRIES_PER_LEASE = 1_000

export type LeaseId = number | bigint

interface SharedLease {
  readonly id: Promise<LeaseId>
  readonly sharedUntilMs: number
  entries: number
}

export class LeasePool {
  readonly #clock: Clock
  readonly #grant: (seconds: number) => Promise<LeaseId>
  readonly #bySeconds = new Map<number, SharedLease>()

  constructor(clock: Clock, grant: (seconds: number) => Promise<LeaseId>) {
    this.#clock = clock
    this.#grant = grant
  }

  /** A lease that lasts at least this long from now. */
  async lease(seconds: number): Promise<LeaseId> {
    const nowMs = this.#clock.monotonicMs()
    let shared = this.#bySeconds.get(seconds)
    if (shared === undefined || nowMs > shared.sharedUntilMs || shared.entries >= MAX_ENTRIES_PER_LEASE) {
      const extraSeconds = Math.min(MAX_SHARED_SECONDS, Math.ceil(seconds * SHARED_PART))
      const id = this.#grant(seconds + extraSeconds)
      shared = { id, sharedUntilMs: nowMs + extraSeconds * 1000, entries: 0 }
      this.#bySeconds.set(seconds, shared)
      id.catch(() => this.#forget(seconds, id))
    }
    shared.entries++
    return shared.id
  }

  /** After etcd says that it does not know a lease of ours. */
  forgetAll(): void {
    this.#bySeconds.clear()
  }

  #forget(seconds: number, id: Promise<LeaseId>): void {
    if (this.#bySeconds.get(seconds)?.id === id) this.#bySeconds.delete(seconds)
  }
}
