/**
 * How much one caller may ask: a client in a loop is slowed, then refused, and nobody else notices. Callers are the node,
 * each accepted token, and each address for all who have proven nothing. Pure: the caller of this file waits and answers.
 */
import type { Clock } from '../../runtime/clock.ts'

/** One caller's requests in the long run; a busy controller stays far below, a loop without a pause does not. */
export const REQUESTS_PER_SECOND = 2_000
/** One caller's requests at once after a pause: informers of a large program start together. */
export const REQUEST_BURST = 4_000
/** Requests in the long run from one address whose callers have proven nothing. */
export const UNPROVEN_REQUESTS_PER_SECOND = 200
/** Requests at once after a pause from one address whose callers have proven nothing. */
const UNPROVEN_REQUEST_BURST = 400
/** What a request costs that was refused as 401, was of no use to an unreachable server, or was given up by the client. */
export const FAILED_REQUEST_COST = 20
/** A request waits this long for its turn; one that would have to wait longer is answered 429. */
export const MAX_REQUEST_DELAY_MS = 1_000
/** One caller's requests under way, those that wait included; as many as an API server gives one kind of client. */
export const MAX_REQUESTS_PER_CALLER = 400
/** One token's watches and logs: little more than a third of what the connections for tokens carry, so that two cannot fill them. */
export const MAX_LONG_REQUESTS_PER_CALLER = 1_000
/** Watches and logs of the node itself, whose connections nobody else uses: a kubelet has one for each ConfigMap and Secret of its pods. */
export const MAX_LONG_REQUESTS_OF_NODE = 2_000
/** One caller's upgraded connections, each with a TLS connection of its own through the tunnel: a sixteenth of what the node may have. */
export const MAX_UPGRADES_PER_CALLER = 64
/** What a request to switch protocols costs, for the handshake through the tunnel that it needs. */
export const UPGRADE_COST = 20
/** Requests of one kind under way for one address whose callers have proven nothing. */
export const MAX_UNPROVEN_REQUESTS = 64
/** Upgraded connections of one address whose callers have proven nothing. */
export const MAX_UNPROVEN_UPGRADES = 16
/** Places of an address whose callers have proven nothing that those without any token leave free, so that a new token can always come to its first answer. */
export const PLACES_FOR_NEW_TOKENS = 8
/** More callers than one node has; beyond, those that come new share one allowance. */
export const MAX_CALLERS = 4_096

/** What a caller has shown: the node's certificate, a token that was accepted, one that has yet to be, or nothing. */
export type Standing = 'node' | 'proven' | 'new' | 'anonymous'

export interface CallerKey {
  /** `node`, the hash of what a token says, or an address. */
  readonly name: string
  readonly standing: Standing
}

export type RequestKind = 'short' | 'long' | 'upgrade'

export type Refused = 'rate' | 'in-flight' | 'long-running' | 'upgrades'

export interface Ticket {
  /** How long to wait before the request may go on. */
  readonly delayMs: number
  /** The request counts for this caller from now on, even beyond its limits: it has shown who it is while it was under way. */
  move(key: CallerKey): void
  /** When the request is over, for good: what comes after does nothing. */
  release(): void
}

interface CallerState {
  readonly perMs: number
  readonly burst: number
  readonly max: Readonly<Record<RequestKind, number>>
  /** May be below zero: what is missing is what the next one waits for. */
  tokens: number
  countedAtMs: number
  readonly open: Record<RequestKind, number>
}

const refusalOf: Readonly<Record<RequestKind, Refused>> = {
  short: 'in-flight',
  long: 'long-running',
  upgrade: 'upgrades',
}

export class CallerLimits {
  readonly #clock: Clock
  readonly #callers = new Map<string, CallerState>()
  readonly #overflow: CallerState
  #active = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#overflow = this.#fresh('new')
  }

  /** Callers with something under way. */
  get active(): number {
    return this.#active
  }

  admit(key: CallerKey, kind: RequestKind): Ticket | Refused {
    const state = this.#stateOf(key)
    const kept = key.standing === 'anonymous' ? PLACES_FOR_NEW_TOKENS : 0
    if (state.open[kind] >= state.max[kind] - kept) return refusalOf[kind]
    this.#refill(state)
    const delayMs = state.tokens >= 1 ? 0 : (1 - state.tokens) / state.perMs
    if (delayMs > MAX_REQUEST_DELAY_MS) return 'rate'
    state.tokens -= kind === 'upgrade' ? UPGRADE_COST : 1
    return this.#enter(state, kind, delayMs)
  }

  /** Makes the caller's next requests wait for one that failed. Nobody is held longer than the longest wait for it. */
  chargeFailure(key: CallerKey): void {
    const state = this.#stateOf(key)
    this.#refill(state)
    state.tokens = Math.max(state.tokens - FAILED_REQUEST_COST, -state.perMs * MAX_REQUEST_DELAY_MS)
  }

  #enter(state: CallerState, kind: RequestKind, delayMs: number): Ticket {
    let counted: CallerState | undefined = state
    this.#count(state, kind, 1)
    return {
      delayMs,
      move: (key) => {
        if (counted === undefined) return
        this.#count(counted, kind, -1)
        counted = this.#stateOf(key)
        this.#count(counted, kind, 1)
      },
      release: () => {
        if (counted !== undefined) this.#count(counted, kind, -1)
        counted = undefined
      },
    }
  }

  #count(state: CallerState, kind: RequestKind, by: 1 | -1): void {
    const before = openIn(state)
    state.open[kind] += by
    if (before + by === 0 || before === 0) this.#active += by
  }

  #refill(state: CallerState): void {
    const nowMs = this.#clock.monotonicMs()
    state.tokens = Math.min(state.burst, state.tokens + (nowMs - state.countedAtMs) * state.perMs)
    state.countedAtMs = nowMs
  }

  #stateOf({ name, standing }: CallerKey): CallerState {
    const known = this.#callers.get(name)
    if (known !== undefined) return known
    if (this.#callers.size >= MAX_CALLERS && !this.#makeRoom()) return this.#overflow
    const state = this.#fresh(standing)
    this.#callers.set(name, state)
    return state
  }

  #fresh(standing: Standing): CallerState {
    const isProven = standing === 'node' || standing === 'proven'
    const burst = isProven ? REQUEST_BURST : UNPROVEN_REQUEST_BURST
    return {
      perMs: (isProven ? REQUESTS_PER_SECOND : UNPROVEN_REQUESTS_PER_SECOND) / 1000,
      burst,
      max: isProven ? maxOfProven(standing) : maxOfUnproven,
      tokens: burst,
      countedAtMs: this.#clock.monotonicMs(),
      open: { short: 0, long: 0, upgrade: 0 },
    }
  }

  /** Only one who would come back exactly as he left may be forgotten. Those found busy go to the end of the line. */
  #makeRoom(): boolean {
    let looks = 0
    for (const [name, state] of this.#callers) {
      this.#refill(state)
      const isIdle = openIn(state) === 0 && state.tokens === state.burst
      this.#callers.delete(name)
      if (isIdle) return true
      this.#callers.set(name, state)
      if (++looks === looksForRoom) return false
    }
    return false
  }
}

/** How many callers are looked at for one to forget, so that making room costs the same however many there are. */
const looksForRoom = 64

const maxOfUnproven = { short: MAX_UNPROVEN_REQUESTS, long: MAX_UNPROVEN_REQUESTS, upgrade: MAX_UNPROVEN_UPGRADES }

function maxOfProven(standing: 'node' | 'proven'): CallerState['max'] {
  const long = standing === 'node' ? MAX_LONG_REQUESTS_OF_NODE : MAX_LONG_REQUESTS_PER_CALLER
  return { short: MAX_REQUESTS_PER_CALLER, long, upgrade: MAX_UPGRADES_PER_CALLER }
}

function openIn({ open }: CallerState): number {
  return open.short + open.long + open.upgrade
}
