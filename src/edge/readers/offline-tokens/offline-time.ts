/**
 * How long this edge has been offline in its life: what the grace of expired tokens is counted in, because only whoever cannot
 * reach the API server cannot get a new one. Time while the process does not run is not counted: nobody was served then.
 */
import * as v from 'valibot'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Kept } from '../kept.ts'
import { KeptState } from '../kept-state.ts'

/** How often it is kept while offline: what a power cut may give back of a grace. */
const OFFLINE_TIME_KEEP_MS = 60_000

export interface OfflineTimeOptions {
  readonly kept: Kept
  readonly clock: Clock
  readonly logger: Logger
}

const keptSchema = v.object({
  totalMs: v.pipe(v.number(), v.minValue(0)),
  periodMs: v.pipe(v.number(), v.minValue(0)),
})

export class OfflineTime implements Part {
  readonly name = 'offline-time'
  readonly #clock: Clock
  readonly #kept: KeptState
  #totalMs = 0
  /** Of the present time offline, or of that in which the process before ended. */
  #periodMs = 0
  /** Since when it has not been added, on the monotonic clock; `undefined` while online. */
  #sinceMs: number | undefined
  #cancelTimer = (): void => {}

  constructor({ kept, clock, logger }: OfflineTimeOptions) {
    this.#clock = clock
    this.#kept = new KeptState({
      name: 'offline time',
      kept,
      restore: (text) => {
        const { totalMs, periodMs } = v.parse(keptSchema, JSON.parse(text))
        this.#totalMs += totalMs
        this.#periodMs += periodMs
      },
      render: () => JSON.stringify({ totalMs: this.totalMs, periodMs: this.periodMs }),
      patienceMs: 0,
      clock,
      logger,
    })
  }

  /** In all. */
  get totalMs(): number {
    this.#add()
    return this.#totalMs
  }

  /** Since it was last online. */
  get periodMs(): number {
    this.#add()
    return this.#periodMs
  }

  async start(): Promise<RunningPart> {
    const keeping = await this.#kept.start()
    return {
      stop: async (deadline) => {
        this.#cancelTimer()
        this.#kept.changed()
        await keeping.stop(deadline)
      },
    }
  }

  wentOffline(): void {
    if (this.#sinceMs !== undefined) return
    this.#sinceMs = this.#clock.monotonicMs()
    this.#keepAgain()
  }

  wentOnline(): void {
    this.#add()
    this.#cancelTimer()
    this.#sinceMs = undefined
    this.#periodMs = 0
    this.#kept.changed()
  }

  #add(): void {
    if (this.#sinceMs === undefined) return
    const nowMs = this.#clock.monotonicMs()
    this.#totalMs += nowMs - this.#sinceMs
    this.#periodMs += nowMs - this.#sinceMs
    this.#sinceMs = nowMs
  }

  #keepAgain(): void {
    this.#cancelTimer = this.#clock.schedule(OFFLINE_TIME_KEEP_MS, () => {
      this.#kept.changed()
      this.#keepAgain()
    })
  }
}
