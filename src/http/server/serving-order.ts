/**
 * In which order requests are served, and how many in one turn of the event loop. A single read may bring hundreds of
 * requests, and many connections may have something at once: each connection has a lane, the lanes take turns, and what does
 * not fit into the time of this turn waits for the next, so that sockets, timers and the work of others come in between.
 *
 * Always true: jobs of one lane run in the order in which they came, and a job begins when the one before it has done
 * everything that it does without a wait.
 */

import type { Guard } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { TURN_MS } from '../../runtime/turns.ts'

export type Job = () => void

/** The jobs of one connection, which take turns with those of the others. */
export interface Lane {
  add(job: Job): void
}

class WaitingLane implements Lane {
  readonly jobs: Job[] = []
  readonly guard: Guard
  readonly #added: (lane: WaitingLane) => void

  constructor(guard: Guard, added: (lane: WaitingLane) => void) {
    this.guard = guard
    this.#added = added
  }

  add(job: Job): void {
    this.jobs.push(job)
    this.#added(this)
  }
}

export class ServingOrder {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** Lanes with jobs, in the order of their turns. */
  readonly #waiting: WaitingLane[] = []
  #isServing = false
  #isTurnBegun = false
  #turnBeganMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** For a new connection, whose jobs stand over the guard. */
  openLane(guard: Guard): Lane {
    return new WaitingLane(guard, (lane) => {
      if (lane.jobs.length === 1) this.#waiting.push(lane)
      if (!this.#isServing) this.#goOn()
    })
  }

  /** The first job of a turn begins before anything else happens, when all that came with it has been read. */
  #goOn(): void {
    if (!this.#isTurnBegun) this.#beginTurn()
    if (this.#isTurnOver) return
    this.#isServing = true
    process.nextTick(this.#serveNext)
  }

  #beginTurn(): void {
    this.#isTurnBegun = true
    this.#turnBeganMs = this.#clock.monotonicMs()
    setImmediate(() => {
      this.#isTurnBegun = false
      if (this.#waiting.length > 0) this.#goOn()
    })
  }

  get #isTurnOver(): boolean {
    return this.#clock.monotonicMs() - this.#turnBeganMs >= TURN_MS
  }

  readonly #serveNext = (): void => {
    const lane = this.#waiting.shift()
    if (lane === undefined || this.#isTurnOver) {
      if (lane !== undefined) this.#waiting.unshift(lane)
      this.#isServing = false
      return
    }
    const job = lane.jobs.shift()
    if (lane.jobs.length > 0) this.#waiting.push(lane)
    queueMicrotask(this.#serveNextSoon)
    if (job !== undefined) lane.guard(job)
  }

  /** Ticks come behind all microtasks, so behind everything that follows from the job without a wait. */
  readonly #serveNextSoon = (): void => process.nextTick(this.#serveNext)
}
