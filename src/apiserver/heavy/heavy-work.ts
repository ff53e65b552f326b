/**
 * Work that would keep everybody else waiting, done on other threads. What is short has a thread of its own: nobody who has
 * little to do waits behind those who have much.
 */
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import { HeavyLane, type HeavyLaneOptions } from './heavy-lane.ts'
import type { HeavyResult, HeavyTask } from './heavy-task.ts'
import { isShort } from './task-size.ts'

export class HeavyWork implements Part {
  readonly name = 'heavy work'
  readonly #short: HeavyLane
  readonly #long: HeavyLane

  constructor(options: HeavyLaneOptions) {
    this.#short = new HeavyLane(options)
    this.#long = new HeavyLane(options)
  }

  start(): Promise<RunningPart> {
    return Promise.resolve({
      stop: async () => {
        await Promise.all([this.#short.stop(), this.#long.stop()])
      },
    })
  }

  /** Rejects with an ApiError where there is no place, where it takes too long, or where `signal` aborts before its turn. */
  run(task: HeavyTask, caller: string, signal: AbortSignal): Promise<HeavyResult> {
    return (isShort(task) ? this.#short : this.#long).run(task, caller, signal)
  }
}
