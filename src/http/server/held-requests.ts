/**
 * The requests of one connection that wait for room. A connection may carry those of many callers, of whom one asks without
 * end and reads nothing: callers take turns, each with its requests in the order in which they came.
 */
import type { Job } from './serving-order.ts'

export class HeldRequests {
  /** Whose turn is next stands first. */
  readonly #byCaller = new Map<string, Job[]>()

  get isEmpty(): boolean {
    return this.#byCaller.size === 0
  }

  add(caller: string, serve: Job): void {
    const own = this.#byCaller.get(caller)
    if (own === undefined) this.#byCaller.set(caller, [serve])
    else own.push(serve)
  }

  takeNext(): Job | undefined {
    for (const [caller, own] of this.#byCaller) {
      const serve = own.shift()
      this.#byCaller.delete(caller)
      if (own.length > 0) this.#byCaller.set(caller, own)
      return serve
    }
    return undefined
  }

  clear(): void {
    this.#byCaller.clear()
  }
}
