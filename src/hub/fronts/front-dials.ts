/** The dials of one front: bounded in number and time, each with a count, and with a line in the log as long as there are not too many. */
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { type Destination, formatDestination } from '../routing/destination.ts'
import type { DialedRoute, RouteDialer } from '../routing/route-dialer.ts'
import type { FrontMetrics } from './metrics.ts'

/** Lines in the log about dials that failed, per second: users of the control plane cause them, as many as they like. */
export const FAILED_FRONT_DIALS_LOGGED_PER_SECOND = 10
/** How many lines about failed dials of a front may follow one another at once. */
export const FAILED_FRONT_DIALS_LOG_BURST = 100

export interface FrontDialsOptions {
  /** The value of the label `front`. */
  readonly front: string
  readonly dialer: Pick<RouteDialer, 'dial'>
  readonly clock: Clock
  readonly metrics: FrontMetrics
  readonly logger: Logger
  readonly timeoutMs: number
  /** Under way at the same time. */
  readonly maxPending: number
}

export class FrontDials {
  readonly #options: FrontDialsOptions
  readonly #lines: LineLimit
  #pending = 0

  constructor(options: FrontDialsOptions) {
    this.#options = options
    this.#lines = new LineLimit(options.clock, FAILED_FRONT_DIALS_LOGGED_PER_SECOND, FAILED_FRONT_DIALS_LOG_BURST)
  }

  /** Resolves once the far end has connected; rejects with an `OpenError`. */
  async dial(destination: Destination, source: string, signal: AbortSignal): Promise<DialedRoute> {
    const { front, clock, logger, metrics } = this.#options
    const beginMs = clock.monotonicMs()
    this.#pending += 1
    try {
      const dialed = await this.#dial(destination, source, signal)
      const tookMs = clock.monotonicMs() - beginMs
      metrics.dials.inc({ front, code: 'ok' })
      metrics.dialSeconds.observe({ front }, tookMs / 1000)
      logger.debug({ ...this.#told(destination, source), node: dialed.node, tookMs }, 'connected for the control plane')
      return dialed
    } catch (error) {
      if (!(error instanceof OpenError)) throw error
      metrics.dials.inc({ front, code: error.code })
      const told = { ...this.#told(destination, source), code: error.code, reason: error.message }
      const admitted = this.#lines.admit()
      if (admitted !== undefined) logger.info({ ...told, ...admitted }, 'not connected for the control plane')
      throw error
    } finally {
      this.#pending -= 1
    }
  }

  #told(destination: Destination, source: string): Record<string, string> {
    return { front: this.#options.front, source, destination: formatDestination(destination) }
  }

  async #dial({ host, port }: Destination, source: string, signal: AbortSignal): Promise<DialedRoute> {
    const { dialer, timeoutMs, maxPending } = this.#options
    if (this.#pending > maxPending)
      throw new OpenError('overloaded', `${maxPending} connections are being opened already; try again later`)
    return await dialer.dial(host.text, port, { deadlineMs: timeoutMs, source, signal })
  }
}
