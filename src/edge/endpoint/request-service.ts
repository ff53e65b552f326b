/**
 * The way of a request through the endpoint: who calls, whether this caller may ask for more now, then up. Every request
 * ends here exactly once, whatever became of it.
 */

import type { Exchange, StreamingExchange, UpgradeExchange } from '../../http/server/exchange.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { type AcceptedTokens, showsAcceptance } from './accepted-tokens.ts'
import type { CallerLimits, RequestKind, Ticket } from './caller-limits.ts'
import type { ClientCertificates } from './client-certificate.ts'
import type { EndpointMetrics } from './endpoint-metrics.ts'
import {
  type AnswerChoice,
  type FilterChoice,
  type ForwardOptions,
  forwardExchange,
  type Identify,
} from './forward-exchange.ts'
import { type ForwardUpgradeOptions, forwardUpgrade } from './forward-upgrade.ts'
import { answerError, limitFailure, upstreamFailure } from './own-answers.ts'
import { type Entry, enter, unprovenKey } from './request-entry.ts'
import { RequestRecord } from './request-record.ts'

export interface RequestServiceOptions {
  readonly certificates: ClientCertificates
  readonly accepted: AcceptedTokens
  readonly limits: CallerLimits
  readonly identify: Identify
  readonly upstream: Upstream
  /** Absent: every request goes up. */
  readonly replica?: AnswerChoice | undefined
  readonly filters: FilterChoice
  readonly metrics: EndpointMetrics
  /** Hears the hash of every token that the API server does not take. */
  readonly onRejected?: (tokenHash: string) => void
  readonly clock: Clock
  readonly logger: Logger
}

export class RequestService {
  readonly #options: RequestServiceOptions
  readonly #forward: ForwardOptions & ForwardUpgradeOptions
  readonly #inFlight: Record<RequestKind, number> = { short: 0, long: 0, upgrade: 0 }

  readonly #long = new Map<Exchange, RequestRecord>()

  constructor(options: RequestServiceOptions) {
    this.#options = options
    this.#forward = { ...options, judged: (...told) => this.#judge(...told) }
  }

  get inFlight(): Readonly<Record<RequestKind, number>> {
    return this.#inFlight
  }

  /**
   * Watches and logs end only when somebody ends them; their clients come again. A watch may end at any time, but a log that
   * ends would look complete: it is cut. Upgraded connections are left to themselves.
   */
  endLong(): void {
    for (const [exchange, record] of this.#long) if (!record.endWatch()) exchange.abort()
  }

  serve(exchange: StreamingExchange): Promise<void> {
    return this.#run(exchange, false, (entry, record) => forwardExchange(exchange, entry, record, this.#forward))
  }

  upgrade(exchange: UpgradeExchange): Promise<void> {
    return this.#run(exchange, true, (entry, record) => forwardUpgrade(exchange, entry, record, this.#forward))
  }

  async #run(
    exchange: StreamingExchange,
    isUpgrade: boolean,
    forward: (entry: Entry, record: RequestRecord) => Promise<void>,
  ): Promise<void> {
    const { clock, metrics } = this.#options
    const record = new RequestRecord(exchange, clock, metrics)
    let entry: Entry | undefined
    try {
      entry = enter(exchange, isUpgrade, this.#options)
      const { delayMs } = this.#admit(exchange, entry, record, isUpgrade)
      record.entered(entry)
      if (delayMs > 0) await clock.sleep(delayMs, exchange.closed)
      await forward(entry, record)
    } catch (error) {
      this.#failed(exchange, entry, record, error)
    }
  }

  #admit(exchange: Exchange, { key, isLong }: Entry, record: RequestRecord, isUpgrade: boolean): Ticket {
    const { limits, metrics } = this.#options
    const kind = isUpgrade ? 'upgrade' : isLong ? 'long' : 'short'
    const ticket = limits.admit(key, kind)
    if (typeof ticket === 'string') {
      metrics.limited(ticket)
      throw limitFailure(ticket)
    }
    if (ticket.delayMs > 0) metrics.limited('delayed')
    record.ticket = ticket
    this.#inFlight[kind] += 1
    if (kind === 'long') this.#long.set(exchange, record)
    record.whenOver(() => {
      this.#inFlight[kind] -= 1
      this.#long.delete(exchange)
      ticket.release()
    })
    return ticket
  }

  /** What the API server thinks of the caller's token, by how it answered. */
  #judge(entry: Entry, { method, peer, ending }: StreamingExchange, record: RequestRecord, status: number): void {
    const { caller, key, pool, isLong } = entry
    const { accepted, limits } = this.#options
    if (status === 401 && pool !== 'node') limits.chargeFailure(unprovenKey(peer.address, 'new'))
    if (caller.kind !== 'token') return
    if (status === 401) {
      accepted.forget(caller.hash)
      this.#options.onRejected?.(caller.hash)
    } else if (showsAcceptance(method, status)) {
      const { key: proven } = accepted.accept(caller.hash, caller.token)
      if (isLong && !ending.aborted) record.whenOver(accepted.hold(caller.hash))
      // A watch that began as a new token's must not hold one of the few places for those.
      if (key.standing === 'new') record.ticket?.move(proven)
    }
  }

  #failed(exchange: StreamingExchange, entry: Entry | undefined, record: RequestRecord, error: unknown): void {
    const { limits, logger } = this.#options
    const failure = upstreamFailure(error, exchange.method, entry !== undefined && entry.pool !== 'open')
    if (failure !== undefined)
      logger.debug({ err: error, method: exchange.method }, 'a request did not come to its answer')
    const isGone = exchange.ending.aborted
    // One who asks in vain again and again, or asks and leaves, pays for it with the pace of his next requests.
    if (entry !== undefined && (failure !== undefined || isGone)) limits.chargeFailure(entry.key)
    if (isGone || record.isAnswered) return
    const known = error instanceof ApiError ? error : failure
    if (known === undefined) logger.error({ err: error, method: exchange.method }, 'a request failed by a defect')
    try {
      record.answered(answerError(exchange, known ?? error))
    } catch {
      // Part of an answer is out already, or there is nobody left to take one.
      exchange.abort()
    }
  }
}
