/**
 * Keeps the books of those who want to be a node: one audit line, the numbers, and the failures of each address. Nothing
 * secret is in an attempt, and no text of a stranger but a node name that was found valid.
 */

import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { KeyFingerprint } from '../claims/claim.ts'
import type { HubRequest } from '../port/http-message.ts'
import type { FailureLimiter } from '../port/overload.ts'
import { Refusal } from '../refusal.ts'
import type { JoinMetrics } from './metrics.ts'

/** Who came, and for which cluster: a request, or a connection that is to become a session. */
type Visitor = Pick<HubRequest, 'peer' | 'door'>

/** Filled in as it becomes known. */
export interface Attempt {
  readonly event: 'join' | 'rotation' | 'check-in'
  node?: string
  tokenId?: string
  /** Fingerprint of the key that a certificate is wanted for, or that was presented. */
  key?: KeyFingerprint
  serial?: string
}

export interface AttemptsOptions {
  readonly failures: FailureLimiter
  readonly metrics: JoinMetrics
  /** The component `audit`. */
  readonly audit: Logger
  readonly clock: Clock
}

export class Attempts {
  readonly #options: AttemptsOptions

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /**
   * A join or a rotation. An address that failed too often may not try tokens for a while; certificates are looked at all the
   * same, so that nobody can keep the honest nodes of a shared address from renewing theirs.
   */
  async certificate<T>(request: HubRequest, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { metrics, clock, failures } = this.#options
    const by = request.peer.certificates.length > 0 ? 'certificate' : 'token'
    const startedMs = clock.monotonicMs()
    let result: HubRefusalCode | 'ok' = 'ok'
    try {
      if (by === 'token') failures.check(request.peer.source)
      return await this.#audited({ event: by === 'token' ? 'join' : 'rotation' }, request, work)
    } catch (error) {
      result = codeOf(error)
      if (result === 'too-many-failures') metrics.throttled.inc()
      throw error
    } finally {
      metrics.joins.inc({ result, by })
      metrics.durations.observe({ by }, (clock.monotonicMs() - startedMs) / 1000)
    }
  }

  /** An edge that shows its certificate: worth a line only if it is turned away. */
  checkIn<T>(request: Visitor, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    return this.#audited({ event: 'check-in' }, request, work)
  }

  async #audited<T>(attempt: Attempt, request: Visitor, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { audit, failures } = this.#options
    const { address, source } = request.peer
    const line = (result: string): Record<string, unknown> => ({
      ...attempt,
      result,
      source: address,
      cluster: request.door.cluster.name,
    })
    try {
      const answer = await work(attempt)
      if (attempt.event !== 'check-in') audit.info(line('ok'), 'certificate issued')
      return answer
    } catch (error) {
      const isThrottled = failures.isExhausted(source)
      if (error instanceof Refusal && error.status < 500) failures.failed(source)
      // Whoever fails without end must not fill the log either.
      if (!isThrottled) audit.info(line(codeOf(error)), 'denied')
      throw error
    }
  }
}

function codeOf(error: unknown): HubRefusalCode {
  return error instanceof Refusal ? error.code : 'internal'
}
