/**
 * The end of an exchange for those who have to stop then: of an AbortSignal only what they need. A whole one costs as much
 * processor time as the rest of an exchange together, so it is made only where somebody asks for it.
 */

import { callAll } from '../../runtime/call-all.ts'

/** Every AbortSignal is one. */
export interface Cancellation {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Why it aborts. One object for all: making an error with its stack for each request would cost more than it says. */
const exchangeOver = new Error('the response is complete or the client has gone')

export class Ending implements Cancellation {
  #listeners: (() => void)[] = []
  #isOver = false
  #controller: AbortController | undefined

  get aborted(): boolean {
    return this.#isOver
  }

  get reason(): unknown {
    return this.#isOver ? exchangeOver : undefined
  }

  /** The ending as an AbortSignal, for those who take nothing less. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isOver) this.#controller.abort(exchangeOver)
    }
    return this.#controller.signal
  }

  /** As with an AbortSignal, whoever comes after the end is not called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.#isOver) this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener)
    if (index >= 0) this.#listeners.splice(index, 1)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    const listeners = this.#listeners
    // What is over lets go of everybody, however long somebody holds it.
    this.#listeners = []
    callAll([...listeners, () => this.#controller?.abort(exchangeOver)])
  }
}
