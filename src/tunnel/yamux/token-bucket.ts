/** A rate limit: so many tokens per second over time, saved up for one second of burst. */
export class TokenBucket {
  readonly #perSecond: number
  #tokens: number
  #filledMs: number

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond
    this.#tokens = perSecond
    this.#filledMs = nowMs
  }

  /** Takes one token; false when the rate is exceeded. A clock that stands still or goes back fills nothing. */
  take(nowMs: number): boolean {
    if (nowMs > this.#filledMs) {
      this.#tokens = Math.min(this.#perSecond, this.#tokens + ((nowMs - this.#filledMs) * this.#perSecond) / 1000)
      this.#filledMs = nowMs
    }
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
