/** Keeps the files of a service account good for as long as a program runs, as the kubelet does for pods. */
import type { Clock } from '../../runtime/clock.ts'
import type { AccountFiles } from './service-account.ts'

/** When a new token is fetched: as the kubelet does, so that a fifth of its life is left for API servers that are away. */
const RUN_TOKEN_REFRESH_SHARE = 0.8
/** Between looks at the clock: a laptop that slept finds its token replaced soon after. Also between attempts that failed. */
export const RUN_TOKEN_CHECK_MS = 10_000

export interface FreshAccountOptions {
  readonly clock: Clock
  readonly fetch: (signal: AbortSignal) => Promise<AccountFiles>
  readonly write: (files: AccountFiles) => Promise<void>
  /** Hears of the first failure in a row. */
  readonly warn: (message: string) => void
}

export class FreshAccount {
  readonly #options: FreshAccountOptions
  readonly #stopped = new AbortController()
  #made: { readonly wallMs: number; readonly monotonicMs: number; readonly lifeMs: number }
  #isFailing = false
  #checking: Promise<void> = Promise.resolve()
  #cancelCheck = (): void => {}

  /** `first` has been written already, just now. */
  constructor(first: AccountFiles, options: FreshAccountOptions) {
    this.#options = options
    this.#made = this.#madeNow(first)
    this.#scheduleCheck()
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#cancelCheck()
    await this.#checking
  }

  #madeNow({ tokenLifeMs }: AccountFiles) {
    const { clock } = this.#options
    return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), lifeMs: tokenLifeMs }
  }

  #scheduleCheck(): void {
    this.#cancelCheck = this.#options.clock.schedule(RUN_TOKEN_CHECK_MS, () => {
      this.#checking = this.#check()
    })
  }

  async #check(): Promise<void> {
    if (this.#isDue()) await this.#refresh()
    if (!this.#stopped.signal.aborted) this.#scheduleCheck()
  }

  /** By either clock: one stands still while the machine sleeps, the other may be set. */
  #isDue(): boolean {
    const { clock } = this.#options
    const { wallMs, monotonicMs, lifeMs } = this.#made
    const ageMs = Math.max(clock.nowMs() - wallMs, clock.monotonicMs() - monotonicMs)
    return ageMs >= lifeMs * RUN_TOKEN_REFRESH_SHARE
  }

  async #refresh(): Promise<void> {
    const { signal } = this.#stopped
    const { fetch, write, warn } = this.#options
    try {
      const files = await fetch(signal)
      if (signal.aborted) return
      await write(files)
      this.#made = this.#madeNow(files)
      this.#isFailing = false
    } catch (error) {
      if (signal.aborted) return
      if (!this.#isFailing) warn(`the token could not be renewed and will be tried again: ${(error as Error).message}`)
      this.#isFailing = true
    }
  }
}
