/**
 * Streams that were reset here while their peer may not know yet. What it sends on them until it does, within the window it had,
 * is honest; whatever else comes for a stream that is not there is not.
 */

import { BoundedMap } from '../../runtime/bounded-map.ts'
import { MAX_RESET_STREAMS } from './limits.ts'

export class ResetStreams {
  /** What the peer may still have under way, by id. */
  readonly #windows = new BoundedMap<number, { leftBytes: number }>(MAX_RESET_STREAMS)

  add(id: number, windowBytes: number): void {
    this.#windows.set(id, { leftBytes: windowBytes })
  }

  /** Counts bytes that come for the stream; false if the peer cannot have sent them in good faith. */
  take(id: number, bytes: number): boolean {
    const window = this.#windows.get(id)
    if (window === undefined || bytes > window.leftBytes) return false
    window.leftBytes -= bytes
    return true
  }
}
