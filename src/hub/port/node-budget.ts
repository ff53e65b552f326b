/** How often a node may ask for something that costs the cluster work and cannot be taken back. */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
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
  readonly bucket: TokenBucket
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
    const { what, maxInFlight } = this.#limits
    const nowMs = this.#clock.monotonicMs()
    this.#forgetIdle(nowMs)
    const account = this.#accountOf(`${cluster}/${node}`, nowMs)
    if (account.inFlight >= maxInFlight) throw tooMany(`node ${node} has ${maxInFlight} requests under way already`, 1)
    if (!account.bucket.take(nowMs))
      throw tooMany(`node ${node} asks for ${what} too often`, Math.ceil(account.bucket.waitMs(nowMs) / 1000))
    account.inFlight += 1
    let isOpen = true
    return () => {
      if (isOpen) account.inFlight -= 1
      isOpen = false
    }
  }

  #accountOf(name: string, nowMs: number): Account {
    const { burst, intervalMs } = this.#limits
    const account = this.#accounts.get(name) ?? {
      bucket: new TokenBucket(1000 / intervalMs, nowMs, burst),
      inFlight: 0,
    }
    // The one that asked last stands last.
    this.#accounts.delete(name)
    this.#accounts.set(name, account)
    return account
  }

  /** Stops at the first that is still of interest: those behind it asked later. */
  #forgetIdle(nowMs: number): void {
    for (const [name, { bucket, inFlight }] of this.#accounts) {
      if (inFlight > 0 || !bucket.isFull(nowMs)) return
      this.#accounts.delete(name)
    }
  }
}

function tooMany(why: string, retryAfterSeconds: number): Refusal {
  return new Refusal('too-many-requests', `${why}; ask again later`, { retryAfterSeconds })
}
