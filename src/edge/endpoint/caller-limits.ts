/**
 * How much one caller may ask: a client in a loop is slowed, then refused, and nobody else notices. Callers are the node,
 * each accepted token, and each address for all who have proven nothing. Pure: the caller of this file waits and answers.
 */
import type { Clock } from '../../telemetry/clock.ts'

/** One caller's requests in the long run; a busy controller stays far below, a loop without a pause does not. */
export const REQUESTS_PER_SECOND = 2_000
/** One caller's requests at once after a pause: informers of a large program start together. */
export const REQUEST_BURST = 4_000
/** The same for one address whose callers have proven nothing. */
export const UNPROVEN_REQUESTS_PER_SECOND = 200
/** The same for one address whose callers have proven nothing. */
export const UNPROVEN_REQUEST_BURST = 400
/** What a request costs that was refused as 401, was of no use to an unreachable server, or was given up by the client. */
export const FAILED_REQUEST_COST = 20
/** A request waits this long for its turn; one that would have to wait longer is answered 429. */
export const MAX_REQUEST_DELAY_MS = 1_000
/** One caller's requests under way, those that wait included; as many as an API server gives one kind of client. */
export const MAX_REQUESTS_PER_CALLER = 400
/** One caller's watches, logs and upgraded connections: a kubelet has one for each ConfigMap and Secret of its pods. */
export const MAX_LONG_REQUESTS_PER_CALLER = 2_000
/** The same for one address whose callers have proven nothing. */
export const MAX_UNPROVEN_REQUESTS = 64
/** More callers than one node has; beyond, those that come new share one allowance. */
export const MAX_CALLERS = 4_096

export interface CallerKey {
  /** `node`, the hash of a token, or an address. */
  readonly name: string
  readonly isProven: boolean
}

export type Refused = 'rate' | 'in-flight' | 'long-running'

export interface Ticket {
  /** How long to wait before the request may go on. */
  readonly delayMs: number
  /** To be called once, when the request is over. */
  release(): void
}

interface CallerState {
  readonly perMs: number
  readonly burst: number
  readonly maxShort: number
  readonly maxLong: number
  /** May be below zero: what is missing is what the next one waits for. */
  tokens: number
  countedAtMs: number
  short: number
  long: number
}

export class CallerLimits {
  readonly #clock: Clock
  readonly #callers = new Map<string, CallerState>()
  readonly #overflow: CallerState
  #active = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#overflow = this.#fresh(false)
  }

  /** Callers with something under way. */
  get active(): number {
    return this.#active
  }

  admit(key: CallerKey, isLong: boolean): Ticket | Refused {
    const state = this.#stateOf(key)
    if (isLong ? state.long >= state.maxLong : state.short >= state.maxShort)
      return isLong ? 'long-running' : 'in-flight'
    this.#refill(state)
    const delayMs = state.tokens >= 1 ? 0 : (1 - state.tokens) / state.perMs
    if (delayMs > MAX_REQUEST_DELAY_MS) return 'rate'
    state.tokens -= 1
    return { delayMs, release: this.#enter(state, isLong) }
  }

  /** Makes the caller's next requests wait for one that failed. Nobody is held longer than the longest wait for it. */
  chargeFailure(key: CallerKey): void {
    const state = this.#stateOf(key)
    this.#refill(state)
    state.tokens = Math.max(state.tokens - FAILED_REQUEST_COST, -state.perMs * MAX_REQUEST_DELAY_MS)
  }

  #enter(state: CallerState, isLong: boolean): () => void {
    const add = (count: 1 | -1): void => {
      const before = state.short + state.long
      if (isLong) state.long += count
      else state.short += count
      if (before + count === 0 || before === 0) this.#active += count
    }
    add(1)
    return () => add(-1)
  }

  #refill(state: CallerState): void {
    const nowMs = this.#clock.monotonicMs()
    state.tokens = Math.min(state.burst, state.tokens + (nowMs - state.countedAtMs) * state.perMs)
    state.countedAtMs = nowMs
  }

  #stateOf({ name, isProven }: CallerKey): CallerState {
    const known = this.#callers.get(name)
    if (known !== undefined) return known
    if (this.#callers.size >= MAX_CALLERS && !this.#makeRoom()) return this.#overflow
    const state = this.#fresh(isProven)
    this.#callers.set(name, state)
    return state
  }

  #fresh(isProven: boolean): CallerState {
    const burst = isProven ? REQUEST_BURST : UNPROVEN_REQUEST_BURST
    return {
      perMs: (isProven ? REQUESTS_PER_SECOND : UNPROVEN_REQUESTS_PER_SECOND) / 1000,
      burst,
      maxShort: isProven ? MAX_REQUESTS_PER_CALLER : MAX_UNPROVEN_REQUESTS,
      maxLong: isProven ? MAX_LONG_REQUESTS_PER_CALLER : MAX_UNPROVEN_REQUESTS,
      tokens: burst,
      countedAtMs: this.#clock.monotonicMs(),
      short: 0,
      long: 0,
    }
  }

  /** Only one who would come back exactly as he left may be forgotten. Those found busy go to the end of the line. */
  #makeRoom(): boolean {
    let looks = 0
    for (const [name, state] of this.#callers) {
      this.#refill(state)
      const isIdle = state.short + state.long === 0 && state.tokens === state.burst
      this.#callers.delete(name)
      if (isIdle) return true
      this.#callers.set(name, state)
      if (++looks === looksForRoom) return false
    }
    return false
  }
}

/** So that making room costs the same however many callers there are. */
const looksForRoom = 64
