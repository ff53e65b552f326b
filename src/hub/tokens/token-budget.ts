/** How often a node may have a token made: none of them can be taken back, so a node gets few more than it can use. */
import type { Clock } from '../../telemetry/clock.ts'
import { Refusal } from '../refusal.ts'

/** Tokens of one node in a row: a node that keeps crashing before it has written one asks again at every start. */
export const TOKEN_BURST = 10
/** Between two tokens after that; a node needs one in twelve hours. */
export const TOKEN_INTERVAL_MS = 300_000
/** Requests to the API server for all nodes at a time. */
export const MAX_TOKENS_IN_FLIGHT = 32
/** Nodes that wait for their turn; the rest is asked to come back. */
export const MAX_TOKENS_QUEUED = 1_000

interface Account {
  readonly left: number
  readonly atMs: number
}

/** Only nodes that have proven who they are get an account here. */
export class TokenBudget {
  readonly #clock: Clock
  /** The one that asked last stands last; those whose budget is full are forgotten. */
  readonly #accounts = new Map<string, Account>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get nodes(): number {
    return this.#accounts.size
  }

  /** Refuses a node that asks too often. */
  take(cluster: string, node: string): void {
    this.#forgetIdle()
    const name = `${cluster}/${node}`
    const left = this.#leftOf(this.#accounts.get(name))
    if (left < 1)
      throw new Refusal('too-many-requests', `node ${node} asks for tokens too often; ask again later`, {
        retryAfterSeconds: Math.ceil(((1 - left) * TOKEN_INTERVAL_MS) / 1000),
      })
    this.#accounts.delete(name)
    this.#accounts.set(name, { left: left - 1, atMs: this.#clock.monotonicMs() })
  }

  #leftOf(account: Account | undefined): number {
    if (account === undefined) return TOKEN_BURST
    return Math.min(TOKEN_BURST, account.left + (this.#clock.monotonicMs() - account.atMs) / TOKEN_INTERVAL_MS)
  }

  /** Stops at the first that is still of interest: those behind it asked later. */
  #forgetIdle(): void {
    for (const [name, account] of this.#accounts) {
      if (this.#leftOf(account) < TOKEN_BURST) return
      this.#accounts.delete(name)
    }
  }
}
