/**
 * How often a node may have the cluster sign something. Each request is an object in the cluster, work for its signer and a
 * certificate that cannot be taken back, so that one node that asks without end must not use up what is there for all.
 */
import type { Clock } from '../../telemetry/clock.ts'
import { Refusal } from '../refusal.ts'

/** Requests of one node in a row: two certificates, asked for again at every restart of a node that keeps crashing. */
export const SIGNING_BURST = 20
/** Between two requests after that. A node that waits for a slow signer asks for both its certificates every half minute. */
export const SIGNING_INTERVAL_MS = 10_000
/** Requests of one node at a time: both certificates, each once more after a connection was lost. */
export const MAX_SIGNINGS_PER_NODE = 4
/** Requests of all nodes that are worked on, most of the time by waiting for the signer. */
export const MAX_SIGNINGS_IN_FLIGHT = 256
/** Those that wait for their turn, with their request in memory; the rest is asked to come back. */
export const MAX_SIGNINGS_QUEUED = 1_000

interface Account {
  tokens: number
  atMs: number
  inFlight: number
}

/** A token bucket for each node. Only nodes that have proven who they are get one. */
export class SigningBudget {
  readonly #clock: Clock
  /** Those whose budget is full are forgotten. */
  readonly #accounts = new Map<string, Account>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get nodes(): number {
    return this.#accounts.size
  }

  /** Refuses a node that asks too often or too much at a time; otherwise returns what is to be called when it is served. */
  enter(cluster: string, node: string): () => void {
    this.#forgetIdle()
    const account = this.#accountOf(`${cluster}/${node}`)
    if (account.inFlight >= MAX_SIGNINGS_PER_NODE)
      throw tooMany(`node ${node} has ${MAX_SIGNINGS_PER_NODE} requests under way already`, 1)
    if (account.tokens < 1)
      throw tooMany(
        `node ${node} asks for certificates too often`,
        Math.ceil(((1 - account.tokens) * SIGNING_INTERVAL_MS) / 1000),
      )
    account.tokens -= 1
    account.inFlight += 1
    let isOpen = true
    return () => {
      if (isOpen) account.inFlight -= 1
      isOpen = false
    }
  }

  #accountOf(name: string): Account {
    const account = this.#accounts.get(name) ?? { tokens: SIGNING_BURST, atMs: this.#clock.monotonicMs(), inFlight: 0 }
    this.#refill(account)
    // The one that asked last stands last.
    this.#accounts.delete(name)
    this.#accounts.set(name, account)
    return account
  }

  #refill(account: Account): void {
    const nowMs = this.#clock.monotonicMs()
    account.tokens = Math.min(SIGNING_BURST, account.tokens + (nowMs - account.atMs) / SIGNING_INTERVAL_MS)
    account.atMs = nowMs
  }

  /** Stops at the first that is still of interest: those behind it asked later. */
  #forgetIdle(): void {
    for (const [name, account] of this.#accounts) {
      this.#refill(account)
      if (account.inFlight > 0 || account.tokens < SIGNING_BURST) return
      this.#accounts.delete(name)
    }
  }
}

function tooMany(why: string, retryAfterSeconds: number): Refusal {
  return new Refusal('too-many-requests', `${why}; ask again later`, { retryAfterSeconds })
}
