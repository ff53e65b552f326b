/** How many connections to targets the hub makes at a time, so that targets that do not answer cannot bind all of it. */

/** Dials under way at a time: each is a socket, and perhaps a question to DNS. */
export const MAX_DIALS = 2_048
/** Dials of one node: what its pods need when all start at once, and a small part of all. */
export const MAX_DIALS_PER_NODE = 256

export type DialLimit = 'dials' | 'dials-per-node'

export class DialSlots {
  readonly #maxTotal: number
  readonly #maxPerNode: number
  readonly #ofNode = new Map<string, number>()
  #total = 0

  constructor(maxTotal = MAX_DIALS, maxPerNode = MAX_DIALS_PER_NODE) {
    this.#maxTotal = maxTotal
    this.#maxPerNode = maxPerNode
  }

  get taken(): number {
    return this.#total
  }

  /** Says which limit is reached, or gives what must be called once at the end. */
  take(node: string): DialLimit | (() => void) {
    if (this.#total >= this.#maxTotal) return 'dials'
    const before = this.#ofNode.get(node) ?? 0
    if (before >= this.#maxPerNode) return 'dials-per-node'
    this.#total += 1
    this.#ofNode.set(node, before + 1)
    return () => this.#release(node)
  }

  #release(node: string): void {
    this.#total -= 1
    const left = (this.#ofNode.get(node) ?? 1) - 1
    if (left > 0) this.#ofNode.set(node, left)
    else this.#ofNode.delete(node)
  }
}
