/** A rate limit: so many tokens per second over time, saved up for a burst: of one second where nothing else is said. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #filledMs: number

  constructor(perSecond: number, nowMs: number, burst = perSecond) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#filledMs = nowMs
  }

  /** Takes one token; false when the rate is exceeded. A clock that stands still or goes back fills nothing. */
  take(nowMs: number): boolean {
    this.#fill(nowMs)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** One that was taken has not been used. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /** How long until there is a token; 0 where there is one. */
  waitMs(nowMs: number): number {
    this.#fill(nowMs)
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1000) / this.#perSecond
  }

  /** Nothing was taken for so long that it is as good as new. */
  isFull(nowMs: number): boolean {
    this.#fill(nowMs)
    return this.#tokens >= this.#burst
  }

  #fill(nowMs: number): void {
    if (nowMs <= this.#filledMs) return
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#filledMs) * this.#perSecond) / 1000)
    this.#filledMs = nowMs
  }
}
