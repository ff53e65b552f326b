/** How many signatures are checked at a time: each takes a thread of the pool, which disks and names need as well. */

/** A check takes a tenth of a millisecond; more at a time are not faster. */
const MAX_VERIFICATIONS = 4
/** Tokens that wait to be checked; whoever comes then is told to come again. */
const MAX_WAITING_VERIFICATIONS = 256

export class VerificationPlaces {
  readonly #waiting: (() => void)[] = []
  #taken = 0

  /** `undefined` where there is no place, nor one to wait for it. */
  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#taken < MAX_VERIFICATIONS) this.#taken += 1
    else if (this.#waiting.length >= MAX_WAITING_VERIFICATIONS) return undefined
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#taken -= 1
      else next()
    }
  }
}
