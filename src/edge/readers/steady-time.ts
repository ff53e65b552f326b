/** The time that does not go back, as a part of the process: `steady-core.ts` has the rules, this file the clocks and what is kept. */
import * as v from 'valibot'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Kept } from './kept.ts'
import { KeptState } from './kept-state.ts'
import {
  advance,
  afterSigned,
  afterTold,
  beginSteady,
  type Clocks,
  type Remembered,
  type SteadyState,
  steadyNow,
} from './steady-core.ts'

/** How often the time is kept: a power cut turns it back by this at most, where the machine's own clock does not survive one. */
export const STEADY_KEEP_MS = 60_000

export interface SteadyTimeOptions {
  readonly kept: Kept
  readonly clock: Clock
  readonly logger: Logger
}

const rememberedSchema = v.object({ provenMs: v.number(), floorMs: v.number() })

export class SteadyTime implements Part {
  readonly name = 'steady-time'
  readonly #clock: Clock
  readonly #kept: KeptState
  #state: SteadyState
  #cancelTimer = (): void => {}

  constructor({ kept, clock, logger }: SteadyTimeOptions) {
    this.#clock = clock
    this.#state = beginSteady(this.#clocks())
    this.#kept = new KeptState({
      name: 'steady time',
      kept,
      restore: (text) => this.#restore(v.parse(rememberedSchema, JSON.parse(text))),
      render: () => JSON.stringify(this.#rendered()),
      patienceMs: 0,
      clock,
      logger,
    })
  }

  async start(): Promise<RunningPart> {
    const keeping = await this.#kept.start()
    this.#keepFromNowOn()
    return {
      stop: async (deadline) => {
        this.#cancelTimer()
        await keeping.stop(deadline)
      },
    }
  }

  nowMs(): number {
    const clocks = this.#clocks()
    this.#state = advance(this.#state, clocks)
    return steadyNow(this.#state, clocks)
  }

  /** The `Date` of an answer of the API server, or of a hub, that came over a connection whose far end was verified. */
  told(dateMs: number): void {
    if (!Number.isFinite(dateMs)) return
    const before = this.nowMs()
    this.#state = afterTold(this.#state, dateMs)
    // Every answer has one; only what turns the time counts as a change.
    if (Math.abs(this.nowMs() - before) > STEADY_KEEP_MS) this.#kept.changed()
  }

  /** Something that is signed by the cluster, and whose signature was checked, is from then. */
  signedAt(dateMs: number): void {
    const before = this.nowMs()
    if (!Number.isFinite(dateMs) || dateMs <= before) return
    this.#state = afterSigned(this.#state, dateMs)
    if (dateMs - before > STEADY_KEEP_MS) this.#kept.changed()
  }

  #keepFromNowOn(): void {
    this.#kept.changed()
    this.#cancelTimer = this.#clock.schedule(STEADY_KEEP_MS, () => this.#keepFromNowOn())
  }

  #restore(remembered: Remembered): void {
    this.#state = beginSteady(this.#clocks(), remembered)
  }

  #rendered(): Remembered {
    this.nowMs()
    const { provenMs, floorMs } = this.#state
    return { provenMs, floorMs }
  }

  #clocks(): Clocks {
    return { wallMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() }
  }
}
