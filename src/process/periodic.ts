/** Work that a hub repeats for as long as it lives. A failure is logged and the work tried again, sooner and with growing waits. */
import { Backoff } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { Logger } from '../telemetry/logger.ts'
import { inBackground } from './background.ts'
import type { Part, RunningPart } from './lifecycle.ts'

/** Hubs that started together spread out: each wait is shortened by up to this part of it. */
const PERIOD_SPREAD = 0.1

export interface PeriodicOptions {
  readonly name: string
  readonly everyMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly work: () => Promise<void>
}

export class Periodic implements Part {
  readonly name: string
  readonly #options: PeriodicOptions

  constructor(options: PeriodicOptions) {
    this.name = options.name
    this.#options = options
  }

  start(signal: AbortSignal): Promise<RunningPart> {
    signal.throwIfAborted()
    // The only way out of the loop is the stop.
    return Promise.resolve(inBackground((ending) => this.#run(ending).catch(() => undefined)))
  }

  async #run(signal: AbortSignal): Promise<never> {
    const { clock, random, everyMs, logger, work, name } = this.#options
    const backoff = new Backoff(() => random.fraction())
    // One line when it stops working, or for another reason, and one when it works again: an outage must not fill the log.
    let problem: string | undefined
    for (;;) {
      let waitMs = everyMs * (1 - PERIOD_SPREAD * random.fraction())
      try {
        await work()
        if (problem !== undefined) logger.info({ work: name }, 'this works again')
        problem = undefined
      } catch (error) {
        if (signal.aborted) throw error
        waitMs = Math.min(waitMs, backoff.next(clock.monotonicMs()))
        const fields = { err: error, retryInMs: waitMs, work: name }
        const isKnown = problem === String(error)
        logger[isKnown ? 'debug' : 'warn'](fields, 'could not do this now; it will be tried again')
        problem = String(error)
      }
      await clock.sleep(waitMs, signal)
    }
  }
}
