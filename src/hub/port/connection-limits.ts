/** How many connections the hub holds, and how many of them any one address may have before it says who it is. */

/** Twice the sessions that a hub takes, so that a full one still answers joins and says why it refuses more. */
const MAX_CONNECTIONS = 40_000
/** A site behind one address that starts all at once stays below; one machine cannot fill the hub. */
const MAX_STRANGERS_PER_ADDRESS = 512

export type LimitReached = 'total' | 'address'

export interface Ticket {
  /** Counts in the total only from now on. */
  identified(): void
  release(): void
}

export class ConnectionLimits {
  readonly #maxTotal: number
  readonly #maxPerAddress: number
  readonly #strangers = new Map<string, number>()
  #total = 0

  constructor(maxTotal = MAX_CONNECTIONS, maxPerAddress = MAX_STRANGERS_PER_ADDRESS) {
    this.#maxTotal = maxTotal
    this.#maxPerAddress = maxPerAddress
  }

  get total(): number {
    return this.#total
  }

  admit(source: string): Ticket | LimitReached {
    if (this.#total >= this.#maxTotal) return 'total'
    const strangers = this.#strangers.get(source) ?? 0
    if (strangers >= this.#maxPerAddress) return 'address'
    this.#total++
    this.#strangers.set(source, strangers + 1)
    return this.#ticket(source)
  }

  #ticket(source: string): Ticket {
    let isStranger = true
    let isOpen = true
    const identified = (): void => {
      if (!isStranger) return
      isStranger = false
      const left = (this.#strangers.get(source) ?? 1) - 1
      if (left > 0) this.#strangers.set(source, left)
      else this.#strangers.delete(source)
    }
    const release = (): void => {
      if (!isOpen) return
      isOpen = false
      this.#total--
      identified()
    }
    return { identified, release }
  }
}
