/**
 * What one request was and came to, gathered while it runs and told to the metrics once, when it is over; and what is to be
 * done then. One listener for a whole request: each more costs as much as all the rest of this file.
 */
import type { StreamingExchange } from '../../http/server/exchange.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Ticket } from './caller-limits.ts'
import type { EndpointMetrics } from './endpoint-metrics.ts'
import type { Entry } from './request-entry.ts'

export class RequestRecord {
  readonly #clock: Clock
  readonly #startedMs: number
  #entry: Entry | undefined
  #code: number | undefined
  #answeredMs: number | undefined
  #end: (() => void) | undefined
  fromClientBytes = 0
  toClientBytes = 0
  /** What the limits have given for it. */
  ticket: Ticket | undefined

  readonly #whenOver: (() => void)[] = []

  constructor({ ending }: StreamingExchange, clock: Clock, metrics: EndpointMetrics) {
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
    const over = (): void => {
      for (const action of this.#whenOver) action()
      this.#tell(metrics)
    }
    ending.addEventListener('abort', over)
  }

  /** For when the answer is complete or the client has gone. */
  whenOver(action: () => void): void {
    this.#whenOver.push(action)
  }

  entered(entry: Entry): void {
    this.#entry = entry
  }

  answered(code: number): void {
    this.#code = code
    this.#answeredMs = this.#clock.monotonicMs()
  }

  get isWatch(): boolean {
    return this.#entry?.info?.verb === 'watch'
  }

  /** How a watch is ended before its time. */
  endsBy(end: () => void): void {
    this.#end = end
  }

  /** False where it has no answer that could end. */
  endWatch(): boolean {
    this.#end?.()
    return this.#end !== undefined
  }

  get isAnswered(): boolean {
    return this.#code !== undefined
  }

  #tell(metrics: EndpointMetrics): void {
    const { info, isLong = false, clientClass = 'refused' } = this.#entry ?? {}
    const answeredMs = isLong ? undefined : this.#answeredMs
    metrics.ended({
      info,
      clientClass,
      code: this.#code,
      answeredInSeconds: answeredMs === undefined ? undefined : (answeredMs - this.#startedMs) / 1000,
      fromClientBytes: this.fromClientBytes,
      toClientBytes: this.toClientBytes,
    })
  }
}
