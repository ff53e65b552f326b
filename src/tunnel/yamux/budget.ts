/**
 * What the sessions of one process may hold and promise together. Two things are counted. Buffered bytes are memory in use:
 * over a limit, the largest stream of the session that holds most is reset. Window bytes are promises above what the wire
 * gives every stream: over a limit, windows just do not grow.
 */
import {
  MAX_PROCESS_BUFFERED_BYTES,
  MAX_PROCESS_WINDOW_BYTES,
  MAX_SESSION_BUFFERED_BYTES,
  MAX_SESSION_WINDOW_BYTES,
  MIN_SEND_HIGH_WATER_BYTES,
} from './limits.ts'

export interface BudgetLimits {
  readonly maxProcessBufferedBytes: number
  readonly maxProcessWindowBytes: number
  readonly maxSessionBufferedBytes: number
  readonly maxSessionWindowBytes: number
}

const DEFAULT_BUDGET_LIMITS: BudgetLimits = {
  maxProcessBufferedBytes: MAX_PROCESS_BUFFERED_BYTES,
  maxProcessWindowBytes: MAX_PROCESS_WINDOW_BYTES,
  maxSessionBufferedBytes: MAX_SESSION_BUFFERED_BYTES,
  maxSessionWindowBytes: MAX_SESSION_WINDOW_BYTES,
}

/** Shared by all sessions of a process. */
export class Budget {
  readonly limits: BudgetLimits
  bufferedBytes = 0
  windowBytes = 0
  readonly #accounts = new Set<Account>()

  constructor(limits: Partial<BudgetLimits> = {}) {
    this.limits = { ...DEFAULT_BUDGET_LIMITS, ...limits }
  }

  /** `shed` resets the session's largest stream; it is called while a limit is exceeded. */
  openAccount(shed: () => void): Account {
    const account = new Account(this, shed, () => this.#accounts.delete(account))
    this.#accounts.add(account)
    return account
  }

  /** Makes room where a limit is exceeded, at the cost of whoever holds most. */
  enforce(account: Account): void {
    if (account.bufferedBytes > this.limits.maxSessionBufferedBytes) account.shed()
    while (this.bufferedBytes > this.limits.maxProcessBufferedBytes) {
      const beforeBytes = this.bufferedBytes
      this.#largest()?.shed()
      if (this.bufferedBytes === beforeBytes) return
    }
  }

  #largest(): Account | undefined {
    let largest: Account | undefined
    for (const account of this.#accounts) {
      if (largest === undefined || account.bufferedBytes > largest.bufferedBytes) largest = account
    }
    return largest
  }
}

/** The share of one session. */
export class Account {
  bufferedBytes = 0
  windowBytes = 0
  readonly shed: () => void
  readonly #budget: Budget
  readonly #leave: () => void
  #isClosed = false

  constructor(budget: Budget, shed: () => void, leave: () => void) {
    this.#budget = budget
    this.shed = shed
    this.#leave = leave
  }

  /** Counts bytes that are now in memory; resets the largest holder where that is too much. */
  hold(bytes: number): void {
    this.bufferedBytes += bytes
    this.#budget.bufferedBytes += bytes
    const { maxSessionBufferedBytes, maxProcessBufferedBytes } = this.#budget.limits
    if (this.bufferedBytes > maxSessionBufferedBytes || this.#budget.bufferedBytes > maxProcessBufferedBytes) {
      this.#budget.enforce(this)
    }
  }

  letGo(bytes: number): void {
    this.bufferedBytes -= bytes
    this.#budget.bufferedBytes -= bytes
    if (this.#isClosed) this.close()
  }

  /** Promises window bytes; false, and nothing is promised, where a limit would be exceeded. */
  promise(bytes: number): boolean {
    const { maxSessionWindowBytes, maxProcessWindowBytes } = this.#budget.limits
    if (this.windowBytes + bytes > maxSessionWindowBytes) return false
    if (this.#budget.windowBytes + bytes > maxProcessWindowBytes) return false
    this.windowBytes += bytes
    this.#budget.windowBytes += bytes
    return true
  }

  takeBack(bytes: number): void {
    this.windowBytes -= bytes
    this.#budget.windowBytes -= bytes
  }

  /** The window each of `streams` streams may have if all are treated alike. */
  fairWindowBytes(streams: number): number {
    return Math.floor(this.#budget.limits.maxSessionWindowBytes / Math.max(1, streams))
  }

  /** What each of `streams` streams may have waiting to be sent, so that all of them stay far from the limit. */
  fairSendBytes(streams: number): number {
    const shareBytes = Math.floor(this.#budget.limits.maxSessionBufferedBytes / 4 / Math.max(1, streams))
    return Math.max(MIN_SEND_HIGH_WATER_BYTES, shareBytes)
  }

  /** The session has ended. Streams that ended before it may still be read; with the last of their bytes the account goes. */
  close(): void {
    this.#isClosed = true
    if (this.bufferedBytes === 0) this.#leave()
  }
}
