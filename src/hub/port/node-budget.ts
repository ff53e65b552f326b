/** How often a node may ask for something that costs the cluster work and cannot be taken back. */
import type { Clock } from '../../runtime/clock.ts'
import { Refusal } from '../refusal.ts'

export interface NodeBudgetLimits {
  /** What is asked for, for the text of a refusal. */
  readonly what: string
  /** Requests of one node in a row. */
  readonly burst: number
  /** Between two requests of one node, once the burst is used up. */
  readonly intervalMs: number
  /** Requests of one node at a time. */
  readonly maxInFlight: number
}

interface Account {
  tokens: number
  atMs: number
  inFlight: number
}

/** A token bucket for each node. Only nodes that have proven who they are get one. */
export class NodeBudget {
  readonly #clock: Clock
  readonly #limits: NodeBudgetLimits
  /** By node; nodes whose budget is full are forgotten. */
  readonly #accounts = new Map<string, Account>()

  constructor(clock: Clock, limits: NodeBudgetLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get nodes(): number {
    return this.#accounts.size
  }

  /** Refuses a node that asks too often or too much at a time; otherwise returns what is to be called when it is served. */
  enter(cluster: string, node: string): () => void {
    const { what, intervalMs, maxInFlight } = this.#limits
    this.#forgetIdle()
    const account = this.#accountOf(`${cluster}/${node}`)
    if (account.inFlight >= maxInFlight) throw tooMany(`node ${node} has ${maxInFlight} requests under way already`, 1)
    if (account.tokens < 1)
      throw tooMany(`node ${node} asks for ${what} too often`, Math.ceil(((1 - account.tokens) * intervalMs) / 1000))
    account.tokens -= 1
    account.inFlight += 1
    let isOpen = true
    return () => {
      if (isOpen) account.inFlight -= 1
      isOpen = false
    }
  }

  #accountOf(name: string): Account {
    const { burst } = this.#limits
    const account = this.#accounts.get(name) ?? { tokens: burst, atMs: this.#clock.monotonicMs(), inFlight: 0 }
    this.#refill(account)
    // The one that asked last stands last.
    this.#accounts.delete(name)
    this.#accounts.set(name, account)
    return account
  }

  #refill(account: Account): void {
    const { burst, intervalMs } = this.#limits
    const nowMs = this.#clock.monotonicMs()
    account.tokens = Math.min(burst, account.tokens + (nowMs - account.atMs) / intervalMs)
    account.atMs = nowMs
  }

  /** Stops at the first that is still of interest: those behind it asked later. */
  #forgetIdle(): void {
    for (const [name, account] of this.#accounts) {
      this.#refill(account)
      if (account.inFlight > 0 || account.tokens < this.#limits.burst) return
      this.#accounts.delete(name)
    }
  }
}

function tooMany(why: string, retryAfterSeconds: number): Refusal {
  return new Refusal('too-many-requests', `${why}; ask again later`, { retryAfterSeconds })
}
