/** A limit on log lines that others can cause: so many per second, and the next one tells how many were left out. */
import type { Clock } from '../runtime/clock.ts'
import { TokenBucket } from '../runtime/token-bucket.ts'

export class LineLimit {
  readonly #clock: Clock
  readonly #lines: TokenBucket
  #unlogged = 0

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock
    this.#lines = new TokenBucket(perSecond, clock.monotonicMs(), burst)
  }

  /** What to add to the fields of the line; `undefined` if it is to be left out. */
  admit(): { readonly unlogged?: number } | undefined {
    if (!this.#lines.take(this.#clock.monotonicMs())) {
      this.#unlogged += 1
      return undefined
    }
    const unlogged = this.#unlogged
    this.#unlogged = 0
    return unlogged === 0 ? {} : { unlogged }
  }
}
