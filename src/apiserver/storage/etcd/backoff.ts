/** How long to wait before connecting again: longer each time, with full jitter, so that many do not come back at once. */
import type { Clock } from '../../../runtime/clock.ts'

/** The first wait is at most this long: a lost connection is often back at once. */
export const MIN_BACKOFF_MS = 100
/** No wait is longer: watchers should hear of a recovered etcd within seconds. */
export const MAX_BACKOFF_MS = 5_000

export class Backoff {
  readonly #clock: Clock
  #limitMs = MIN_BACKOFF_MS

  constructor(clock: Clock) {
    this.#clock = clock
  }

  reset(): void {
    this.#limitMs = MIN_BACKOFF_MS
  }

  /** Returns early, without an error, when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    const delayMs = Math.random() * this.#limitMs
    this.#limitMs = Math.min(2 * this.#limitMs, MAX_BACKOFF_MS)
    await this.#clock.sleep(delayMs, signal).catch(() => undefined)
  }
}
