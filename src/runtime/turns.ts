/**
 * Long work in slices, so that others are served in between. One thread serves everybody: whoever has much to do asks from
 * time to time whether its turn is over, and goes on in the next one. All who work at length share one slice of each turn
 * of the event loop, so that their number makes nobody else wait longer.
 */
import type { Clock } from './clock.ts'

/** A fraction of what anybody would notice. */
export const TURN_MS = 10

/** Resolves when everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** When the work of this turn of the event loop began, by whose clock; undefined where nobody has begun any. */
let begun: { readonly clock: Clock; readonly atMs: number } | undefined

/**
 * For work of some length that others set off, a request for instance: nothing to wait for while this turn of the event loop
 * is young, and a slice like everybody else's where others have filled it already. Many may arrive in one turn.
 */
export function turnFor(clock: Clock): Promise<void> | undefined {
  const nowMs = clock.monotonicMs()
  if (begun?.clock !== clock) {
    const mine = { clock, atMs: nowMs }
    begun = mine
    setImmediate(() => {
      if (begun === mine) begun = undefined
    })
    return undefined
  }
  return nowMs - begun.atMs < TURN_MS ? undefined : new Turns(clock).next()
}

interface Waiting {
  readonly clock: Clock
  readonly resume: () => void
}

/** Work whose turn is over, in the order in which it goes on. */
const waiting: Waiting[] = []
let isResuming = false

export class Turns {
  readonly #clock: Clock
  #startedMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startedMs >= TURN_MS
  }

  async next(): Promise<void> {
    await new Promise<void>((resume) => {
      waiting.push({ clock: this.#clock, resume })
      if (isResuming) return
      isResuming = true
      setImmediate(resumeSome)
    })
    this.#startedMs = this.#clock.monotonicMs()
  }
}

/** Lets them go on one after another, until the time of all of them in this turn of the event loop is up. */
function resumeSome(): void {
  const startedMs = waiting[0]?.clock.monotonicMs() ?? 0
  const resumeNext = (): void => {
    const next = waiting.shift()
    if (next === undefined) {
      isResuming = false
      return
    }
    next.resume()
    // Behind everything that follows from it without a wait.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (next.clock.monotonicMs() - startedMs >= TURN_MS) setImmediate(resumeSome)
        else resumeNext()
      }),
    )
  }
  resumeNext()
}
