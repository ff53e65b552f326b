/**
 * A text that takes the thread a while to make, for any number of callers: those who come while it is being made, or while it
 * waits for its turn, share it. However many ask, making it takes no more than a part of the thread's time.
 */
import type { Clock } from '../runtime/clock.ts'
import { nextTurn } from '../runtime/turns.ts'

/** After each rendering, so many times as long as it took goes to others first. */
export const RENDERING_REST_RATIO = 3

export class SharedRendering {
  readonly #clock: Clock
  readonly #render: () => Promise<string>
  #underWay: Promise<Buffer> | undefined
  #notBeforeMs = 0

  constructor(clock: Clock, render: () => Promise<string>) {
    this.#clock = clock
    this.#render = render
  }

  /** The rendering under way, or the next. All who get it get the same bytes, which must not be changed. */
  get(): Promise<Buffer> {
    this.#underWay ??= this.#begin().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  async #begin(): Promise<Buffer> {
    // Whoever else has asked in this turn of the event loop is heard before it begins.
    await nextTurn()
    const restMs = this.#notBeforeMs - this.#clock.monotonicMs()
    if (restMs > 0) await this.#clock.sleep(restMs)
    const startedMs = this.#clock.monotonicMs()
    try {
      return Buffer.from(await this.#render())
    } finally {
      const endedMs = this.#clock.monotonicMs()
      this.#notBeforeMs = endedMs + (endedMs - startedMs) * RENDERING_REST_RATIO
    }
  }
}
