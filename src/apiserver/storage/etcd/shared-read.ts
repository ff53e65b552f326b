/**
 * One question for many who ask at the same time. An answer counts only for those who asked before the question was sent:
 * it may not know of a write that ended since. So whoever comes while one is under way waits for the next, and all who wait
 * share that one.
 */
export class SharedRead<T> {
  readonly #ask: () => Promise<T>
  #current: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  read(): Promise<T> {
    if (this.#current === undefined) return this.#start()
    this.#next ??= this.#startAfter(this.#current)
    return this.#next
  }

  async #startAfter(current: Promise<T>): Promise<T> {
    // How the other one ends is for those who asked it to hear.
    await current.catch(() => {})
    this.#next = undefined
    return await this.#start()
  }

  #start(): Promise<T> {
    const asked = this.#ask()
    const over = (): void => {
      if (this.#current === asked) this.#current = undefined
    }
    this.#current = asked
    asked.then(over, over)
    return asked
  }
}
