/**
 * Streams that were reset here while their peer may not know yet. What it sends on them until it does, within the window it had,
 * is honest; whatever else comes for a stream that is not there is not.
 */
import { MAX_RESET_STREAMS } from './limits.ts'

export class ResetStreams {
  /** What the peer may still have under way, by id; the stream that was reset last stands last. */
  readonly #windowBytes = new Map<number, number>()

  add(id: number, windowBytes: number): void {
    this.#windowBytes.set(id, windowBytes)
    if (this.#windowBytes.size <= MAX_RESET_STREAMS) return
    for (const oldest of this.#windowBytes.keys()) {
      this.#windowBytes.delete(oldest)
      return
    }
  }

  /** Counts bytes that come for the stream; false if the peer cannot have sent them in good faith. */
  take(id: number, bytes: number): boolean {
    const leftBytes = this.#windowBytes.get(id)
    if (leftBytes === undefined || bytes > leftBytes) return false
    this.#windowBytes.set(id, leftBytes - bytes)
    return true
  }
}
