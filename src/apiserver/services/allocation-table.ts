/**
 * Who has which number or address. Stored objects hold what they name; a request under way claims what it wants to store.
 * All methods are synchronous, so two requests never get the same value.
 *
 * A claim is *offered* until the request has passed all checks, then *confirmed* until the object is stored. Nobody tells
 * when a request is refused, therefore claims expire; and a value that is only offered may be claimed by somebody who asks
 * for it by name, so that a refused request does not block the corrected one. Whoever lost an offer learns it when it
 * wants to confirm.
 */
import type { Clock } from '../../runtime/clock.ts'

/** Longer than a write takes from its checks to the cache; an answer that takes longer has timed out. */
export const CLAIM_LIFE_MS = 60_000

interface Claim {
  readonly owner: string
  readonly expiresMs: number
  readonly isConfirmed: boolean
  /** Nobody asked for it by name: another value would do as well. */
  readonly wasPicked: boolean
}

export class AllocationTable<Value> {
  readonly #clock: Clock
  readonly #holders = new Map<Value, string>()
  readonly #held = new Map<string, readonly Value[]>()
  readonly #claims = new Map<Value, Claim>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What a stored object has, all of it; nothing once it is gone. Its claims have served their purpose. */
  hold(owner: string, values: readonly Value[]): void {
    for (const value of this.#held.get(owner) ?? []) {
      if (this.#holders.get(value) === owner) this.#holders.delete(value)
    }
    if (values.length === 0) this.#held.delete(owner)
    else this.#held.set(owner, values)
    for (const value of values) {
      this.#holders.set(value, owner)
      if (this.#claims.get(value)?.owner === owner) this.#claims.delete(value)
    }
  }

  /** Whether a value that the owner asks for by name is its own, or free, or nearly so. */
  isAvailable(value: Value, owner: string): boolean {
    const holder = this.#holders.get(value)
    if (holder !== undefined) return holder === owner
    const claim = this.#claimOn(value)
    return claim === undefined || claim.owner === owner || !claim.isConfirmed
  }

  /** Whether nobody at all has or wants it. */
  isFree(value: Value): boolean {
    return !this.#holders.has(value) && this.#claimOn(value) === undefined
  }

  offer(value: Value, owner: string, wasPicked = false): void {
    this.#claim(value, owner, { isConfirmed: false, wasPicked })
  }

  /** Whether the owner claims it although it did not ask for it by name. */
  wasPicked(value: Value, owner: string): boolean {
    const claim = this.#claimOn(value)
    return claim?.owner === owner && claim.wasPicked
  }

  /** Gives up a claim that came to nothing. */
  release(value: Value, owner: string): void {
    if (this.#claims.get(value)?.owner === owner) this.#claims.delete(value)
  }

  /** False when somebody else has it by now. */
  confirm(value: Value, owner: string): boolean {
    const holder = this.#holders.get(value)
    if (holder !== undefined) return holder === owner
    const claim = this.#claimOn(value)
    if (claim !== undefined && claim.owner !== owner) return false
    this.#claim(value, owner, { isConfirmed: true, wasPicked: claim?.wasPicked ?? false })
    return true
  }

  #claim(value: Value, owner: string, how: Pick<Claim, 'isConfirmed' | 'wasPicked'>): void {
    if (this.#holders.get(value) === owner) return
    this.#claims.set(value, { owner, ...how, expiresMs: this.#clock.monotonicMs() + CLAIM_LIFE_MS })
  }

  #claimOn(value: Value): Claim | undefined {
    const claim = this.#claims.get(value)
    if (claim === undefined || claim.expiresMs > this.#clock.monotonicMs()) return claim
    this.#claims.delete(value)
    return undefined
  }
}
