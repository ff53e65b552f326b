/**
 * Notices time that passed while nobody was looking. A process that was stopped finds its timer late on the monotonic clock; a
 * machine that slept finds the date ahead, because the monotonic clock stands still in sleep. A date that is set looks the
 * same, and costs one question too many.
 */

/** Ordinary load delays a timer by less; a peer loses patience later. */
export const UNSEEN_TIME_MS = 5_000

export class ResumeDetector {
  #wallMs: number
  #monotonicMs: number

  constructor(wallMs: number, monotonicMs: number) {
    this.#wallMs = wallMs
    this.#monotonicMs = monotonicMs
  }

  /** To be called every `intervalMs`. True if much more than that has passed since the last call. */
  observe(wallMs: number, monotonicMs: number, intervalMs: number): boolean {
    const passedMs = Math.max(wallMs - this.#wallMs, monotonicMs - this.#monotonicMs)
    this.#wallMs = wallMs
    this.#monotonicMs = monotonicMs
    return passedMs - intervalMs >= UNSEEN_TIME_MS
  }
}
