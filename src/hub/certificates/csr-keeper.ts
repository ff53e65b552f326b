/**
 * Follows the CertificateSigningRequests of the cluster: approves ours, denies imitations, and tells those who wait how theirs
 * stand. Every hub does this for all, so a request outlives the hub that created it.
 */

import type { KubeClient } from '../../kube/client/client.ts'
import { certificateSigningRequests } from '../../kube/client/kinds.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import { Reflector } from '../../kube/reflector/reflector.ts'
import { isConflict, isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { outcomeOf, wearsOurMarks } from './csr-object.ts'
import { type Judgement, type JudgeOptions, judge } from './judge.ts'
import type { CertificateMetrics } from './metrics.ts'

/** A decision that could not be written is taken again after this long, with the object as it is then. */
export const CSR_DECISION_RETRY_MS = 5_000
/** The wait doubles with every failure up to this: what is forbidden stays so until somebody changes the hub's rights. */
export const MAX_CSR_DECISION_RETRY_MS = 10 * 60_000
/** Decisions under way at a time: one that hangs or fails keeps no other waiting. */
const MAX_CSR_DECISIONS = 16

export interface CsrKeeperOptions extends JudgeOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly logger: Logger
  /** One line for each decision. */
  readonly audit: Logger
  readonly metrics: CertificateMetrics
}

type Waiter = (csr: CertificateSigningRequest) => void

export class CsrKeeper implements Part {
  readonly name = 'node certificates'
  readonly #options: CsrKeeperOptions
  readonly #reflector: Reflector<CertificateSigningRequest>
  readonly #waiters = new Map<string, Set<Waiter>>()
  /** By name: the latest state of those that wait for their turn. */
  readonly #undecided = new Map<string, CertificateSigningRequest>()
  readonly #deciding = new Map<string, Promise<void>>()
  /** Failures in a row, by name. */
  readonly #failures = new Map<string, number>()
  /** A way that is broken is worth one line, not one for each try. */
  #isFollowing = true

  constructor(options: CsrKeeperOptions) {
    this.#options = options
    const source = options.client.resource(certificateSigningRequests)
    this.#reflector = new Reflector(source, { clock: options.clock })
  }

  async start(): Promise<RunningPart> {
    const stopping = new AbortController()
    const running = this.#run(stopping.signal)
    return {
      stop: async () => {
        stopping.abort()
        await running
      },
    }
  }

  /** The object once it is issued or refused, or as it stands when the signal aborts. */
  async settled(created: CertificateSigningRequest, signal: AbortSignal): Promise<CertificateSigningRequest> {
    const name = created.metadata?.name ?? ''
    return await new Promise((resolve) => {
      let latest = this.#reflector.objects.get(name) ?? created
      const waiters = this.#waiters.get(name) ?? new Set()
      const finish = (): void => {
        waiters.delete(look)
        if (waiters.size === 0) this.#waiters.delete(name)
        signal.removeEventListener('abort', finish)
        resolve(latest)
      }
      const look: Waiter = (csr) => {
        latest = csr
        if (isFinal(csr)) finish()
      }
      waiters.add(look)
      this.#waiters.set(name, waiters)
      signal.addEventListener('abort', finish, { once: true })
      look(isFinal(created) ? created : latest)
      if (signal.aborted) finish()
    })
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options
    const seen = (csr: CertificateSigningRequest): void => {
      this.#isFollowing = true
      for (const waiter of [...(this.#waiters.get(csr.metadata?.name ?? '') ?? [])]) waiter(csr)
      this.#enqueue(csr, signal)
    }
    await this.#reflector.run(
      {
        added: seen,
        updated: seen,
        deleted: ({ metadata }) => void this.#failures.delete(metadata?.name ?? ''),
        synced: () => {
          this.#isFollowing = true
        },
        failed: (error, retryInMs) => {
          logger[this.#isFollowing ? 'warn' : 'debug']({ err: error, retryInMs }, 'cannot follow signing requests')
          this.#isFollowing = false
        },
      },
      signal,
    )
    await Promise.all(this.#deciding.values())
  }

  /** One decision at a time for each object, each on its latest state. */
  #enqueue(csr: CertificateSigningRequest, signal: AbortSignal): void {
    if (!wearsOurMarks(csr)) return
    this.#undecided.set(csr.metadata?.name ?? '', csr)
    this.#decideNext(signal)
  }

  #decideNext(signal: AbortSignal): void {
    for (const [name, csr] of this.#undecided) {
      if (signal.aborted || this.#deciding.size >= MAX_CSR_DECISIONS) return
      if (this.#deciding.has(name)) continue
      this.#undecided.delete(name)
      const decided = this.#decide(csr).then(
        () => void this.#failures.delete(name),
        (error: unknown) => this.#failed(name, error, signal),
      )
      this.#deciding.set(
        name,
        decided.finally(() => {
          this.#deciding.delete(name)
          this.#decideNext(signal)
        }),
      )
    }
  }

  async #decide(csr: CertificateSigningRequest): Promise<void> {
    const judgement = await judge(csr, this.#options)
    if (judgement.do !== 'leave') return await this.#write(csr, judgement)
    const { logger } = this.#options
    logger.debug({ csr: csr.metadata?.name, why: judgement.why }, 'signing request left alone')
  }

  #failed(name: string, error: unknown, signal: AbortSignal): void {
    // Another hub was faster, or somebody removed it; what is true now comes by the watch.
    if (isConflict(error) || isNotFound(error) || signal.aborted) return
    const { logger, clock, metrics } = this.#options
    metrics.decided('failed')
    const failures = this.#failures.get(name) ?? 0
    this.#failures.set(name, failures + 1)
    const retryInMs = Math.min(MAX_CSR_DECISION_RETRY_MS, CSR_DECISION_RETRY_MS * 2 ** failures)
    logger.warn({ csr: name, err: error, retryInMs }, reasonToLog(error))
    const again = (): void => {
      const now = this.#reflector.objects.get(name)
      if (now !== undefined) this.#enqueue(now, signal)
    }
    clock.sleep(retryInMs, signal).then(again, () => {})
  }

  async #write(csr: CertificateSigningRequest, judgement: Exclude<Judgement, { do: 'leave' }>): Promise<void> {
    const { client, audit, metrics } = this.#options
    const name = csr.metadata?.name ?? ''
    const approves = judgement.do === 'approve'
    const condition = approves
      ? { type: 'Approved', reason: 'CausewayNodeCertificate', message: `asked for by node ${judgement.node}` }
      : { type: 'Denied', reason: judgement.reason, message: judgement.message }
    const conditions = [...(csr.status?.conditions ?? []), { ...condition, status: 'True' }]
    await client
      .resource(certificateSigningRequests)
      .subresource(name, 'approval')
      .update({ ...csr, status: { ...csr.status, conditions } })
    metrics.decided(approves ? 'approved' : 'denied')
    const about = approves ? { node: judgement.node, purpose: judgement.purpose } : { reason: judgement.reason }
    audit.info(
      { event: approves ? 'csr-approved' : 'csr-denied', csr: name, by: csr.spec.username, ...about },
      condition.message,
    )
  }
}

function isFinal(csr: CertificateSigningRequest): boolean {
  const { state } = outcomeOf(csr)
  return state === 'issued' || state === 'refused'
}

function reasonToLog(error: unknown): string {
  return isForbidden(error)
    ? 'not allowed to decide a signing request; the rights the hub needs are in deploy/hub-rbac.yaml'
    : 'cannot write the decision on a signing request, trying again'
}
