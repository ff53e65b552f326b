/**
 * Shows the hub a certificate that an operator issued, now and then: its first use claims the name. A hub that cannot be
 * reached is tried for ever; one that refuses is, too, but that shows in the health of the edge. Certificates that came by a
 * join are shown by their keeper.
 */

import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { HubError } from '../hub/hub-error.ts'
import { CHECK_IN_INTERVAL_MS } from './rotation-core.ts'

/** A hub that restarts is back by then. */
const CHECK_IN_RETRY_FIRST_MS = 1_000
/** A hub that refuses, or is away for long, is asked this seldom. */
export const CHECK_IN_RETRY_MAX_MS = 300_000

export interface CheckInOptions {
  readonly present: (signal: AbortSignal) => Promise<unknown>
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

export class CheckIn implements Part {
  readonly name = 'check-in'
  readonly #options: CheckInOptions
  #refusal: string | undefined

  constructor(options: CheckInOptions) {
    this.#options = options
  }

  health(): Health {
    return this.#refusal === undefined ? HEALTHY : unhealthy(`the hub refuses the certificate: ${this.#refusal}`)
  }

  async start(): Promise<RunningPart> {
    return inBackground((signal) => this.#run(signal))
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, present, logger } = this.#options
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await present(signal)
        this.#refusal = undefined
        logger.debug('the hub has seen the certificate')
        failures = -1
        // Spread, so that edges that started together do not ask together for ever.
        await clock.sleep(CHECK_IN_INTERVAL_MS * (0.5 + random()), signal)
      } catch (error) {
        if (signal.aborted) return
        this.#refusal =
          error instanceof HubError && error.kind === 'refusal' && !error.retryable ? error.message : undefined
        const ceilingMs = Math.min(CHECK_IN_RETRY_FIRST_MS * 2 ** failures, CHECK_IN_RETRY_MAX_MS)
        const retryInMs = Math.round(ceilingMs * random())
        const why = error instanceof HubError ? { code: error.code, why: error.message } : { err: error }
        logger.warn({ ...why, retryInMs }, 'the hub has not seen the certificate yet')
        await clock.sleep(retryInMs, signal).catch(() => {})
      }
    }
  }
}
