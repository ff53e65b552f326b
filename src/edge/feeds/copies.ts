/**
 * Objects in another encoding than they came in, for as long as there is room: made again where they are asked for after that. They
 * have a limit of their own, since it is not those for whom a feed is kept who decide what others want it written in.
 */

/** Of all feeds together: as much as the lists of some thousand pods take that are asked for again and again. */
export const MAX_COPIES_BYTES = 32 * 1024 * 1024

/** Stands for a copy, and not for its object: what is no more of any feed goes, however long its copy stays. */
export type CopyTicket = object

export class Copies {
  readonly #maxBytes: number
  /** Those that were used last stand last. */
  readonly #copies = new Map<CopyTicket, Buffer>()
  #bytes = 0

  constructor(maxBytes = MAX_COPIES_BYTES) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  keep(copy: Buffer): CopyTicket {
    const ticket = {}
    this.#copies.set(ticket, copy)
    this.#bytes += copy.length
    for (const [oldest, { length }] of this.#copies) {
      if (this.#bytes <= this.#maxBytes) break
      this.#copies.delete(oldest)
      this.#bytes -= length
    }
    return ticket
  }

  /** Undefined where it was forgotten. */
  find(ticket: CopyTicket): Buffer | undefined {
    const copy = this.#copies.get(ticket)
    if (copy === undefined) return undefined
    this.#copies.delete(ticket)
    this.#copies.set(ticket, copy)
    return copy
  }

  clear(): void {
    this.#copies.clear()
    this.#bytes = 0
  }
}

/** Of this process. */
export const copies = new Copies()
