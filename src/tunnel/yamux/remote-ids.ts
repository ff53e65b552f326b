/**
 * Which stream ids the peer has used. An id is good once. Openers that run side by side may send their first frames out of
 * order, so ids that were skipped stay good for a while; what is remembered has a limit, and the oldest skipped id counts as
 * used when it is reached.
 */

import { BoundedMap } from '../../runtime/bounded-map.ts'
import { MAX_SKIPPED_IDS } from './limits.ts'

export class RemoteIds {
  #next: number
  readonly #skipped = new BoundedMap<number, true>(MAX_SKIPPED_IDS)

  /** `first` is 1 where the peer is the client and 2 where it is the server; all its ids have that parity. */
  constructor(first: 1 | 2) {
    this.#next = first
  }

  /** Marks an id as used; false if it is of the wrong parity or has been used before. */
  use(id: number): boolean {
    if ((id & 1) !== (this.#next & 1)) return false
    if (id < this.#next) return this.#skipped.delete(id)
    for (let skipped = Math.max(this.#next, id - 2 * MAX_SKIPPED_IDS); skipped < id; skipped += 2)
      this.#skipped.set(skipped, true)
    this.#next = id + 2
    return true
  }
}
