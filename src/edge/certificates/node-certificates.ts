/**
 * The two pairs that the cluster signs for this node, kept fresh: one to serve the endpoint with, one to be the node at the
 * API server with. What is on disk is used at once, with or without a link; what has to be replaced is used until it is.
 */
import type { Certificate } from '../../identity/certificate.ts'
import type { RequestTemplate } from '../../identity/csr.ts'
import { caBundleSha256 } from '../../identity/join-token.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import { startInOrder } from '../../process/part-group.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { FileOperations } from '../../runtime/files/file-operations.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { HubClient } from '../hub/hub-client.ts'
import { HubError } from '../hub/hub-error.ts'
import type { KeeperMetrics } from '../identity/keeper-metrics.ts'
import { CertificateKeeper } from '../rotation/certificate-keeper.ts'
import { clockHere } from '../rotation/clock-hint.ts'
import { behindEdgeCertificate } from './behind-edge-certificate.ts'
import { addressesLackingIn, nodePairProblem, podTrustProblem, unlistedAddresses } from './node-pair-checks.ts'
import { NodePairFiles } from './node-pair-files.ts'

export interface NodeCertificatesOptions {
  readonly node: string
  readonly dataDir: string
  readonly client: Pick<HubClient, 'certificateContent' | 'kubernetesCertificate'>
  /** IP addresses at which the endpoint serves: the certificate has to name each. */
  readonly addresses: readonly string[]
  /** What pods trust: pinned by the join token, or brought. */
  readonly kubernetesCa: readonly Certificate[]
  readonly rejoinAdvice: string
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: KeeperMetrics
  /** Hears of every pair that replaces another, and of the first if none was on disk. */
  readonly onRenewed?: (purpose: CertificatePurpose, pair: CertificatePair) => void | Promise<void>
  readonly files?: FileOperations
}

export interface NodeCertificateStatus {
  /** Absent: there is none yet. */
  readonly ends?: string | undefined
  /** Why the last attempt to get or renew it failed. */
  readonly problem?: string | undefined
}

export interface NodeCertificatesStatus {
  readonly serving: NodeCertificateStatus
  readonly client: NodeCertificateStatus
  /**
   * The end of the first certificate without which the endpoint could not serve while there is no link. That of the edge itself
   * is not among them: it is needed to come back, and has a grace for that. Absent while one of them is missing.
   */
  readonly goodOfflineUntil?: string | undefined
  /** Why pods refuse the endpoint's certificate, if they do. */
  readonly podTrustProblem?: string | undefined
}

export class NodeCertificates implements Part {
  readonly name = 'node-certificates'
  readonly #options: NodeCertificatesOptions
  readonly #files: NodePairFiles
  readonly #keepers: Readonly<Record<CertificatePurpose, CertificateKeeper>>
  #trustProblem: string | undefined
  #fail: (cause: unknown) => void = () => {}

  private constructor(
    options: NodeCertificatesOptions,
    files: NodePairFiles,
    found: Readonly<Record<CertificatePurpose, CertificatePair | undefined>>,
  ) {
    this.#options = options
    this.#files = files
    this.#keepers = { serving: this.#keeper('serving', found.serving), client: this.#keeper('client', found.client) }
  }

  /** Reads what is on disk. Throws `IdentityError` for files that cannot be read. */
  static async load(options: NodeCertificatesOptions): Promise<NodeCertificates> {
    const files = await NodePairFiles.open({ ...options, kubernetesCaSha256: caBundleSha256(options.kubernetesCa) })
    const found = {
      serving: await readOwn('serving', files, options),
      client: await readOwn('client', files, options),
    }
    return new NodeCertificates(options, files, found)
  }

  /** The pair to serve new connections with. */
  serving(): CertificatePair | undefined {
    return this.#keepers.serving.current()
  }

  /** The pair with which new connections are this node's. */
  client(): CertificatePair | undefined {
    return this.#keepers.client.current()
  }

  health(): Health {
    const bad = [this.#keepers.serving, this.#keepers.client].flatMap((keeper) => {
      const health = keeper.health()
      return health.ok ? [] : [`${keeper.name}: ${health.reason}`]
    })
    if (this.#trustProblem !== undefined) bad.push(this.#trustProblem)
    return bad.length === 0 ? HEALTHY : unhealthy(bad.join('; '))
  }

  get status(): NodeCertificatesStatus {
    return {
      serving: statusOf(this.#keepers.serving),
      client: statusOf(this.#keepers.client),
      goodOfflineUntil: timeOrNone(this.#goodOfflineUntilMs()),
      podTrustProblem: this.#trustProblem,
    }
  }

  /** Ends the edge through `fail` if the hub will not have the endpoint's addresses signed and no pair on disk has them. */
  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    this.#fail = fail
    this.#judgeTrust()
    this.#tellGoodOffline()
    return await startInOrder([this.#keepers.serving, this.#keepers.client], signal, fail)
  }

  #goodOfflineUntilMs(): number | undefined {
    const chains = [this.serving()?.chain, this.client()?.chain]
    if (chains.includes(undefined)) return undefined
    return Math.min(...chains.flatMap((chain) => chain?.map(({ notAfterMs }) => notAfterMs) ?? []))
  }

  #tellGoodOffline(): void {
    this.#options.metrics.goodOffline(this.#goodOfflineUntilMs())
  }

  #judgeTrust(): void {
    const { kubernetesCa, clock, logger } = this.#options
    const chain = this.serving()?.chain
    const problem = chain === undefined ? undefined : podTrustProblem(chain, kubernetesCa, clock.nowMs())
    if (problem !== undefined && problem !== this.#trustProblem)
      logger.error({ certificate: 'serving', why: problem }, 'pods do not trust the CA that signed for the endpoint')
    this.#trustProblem = problem
  }

  #keeper(purpose: CertificatePurpose, pair: CertificatePair | undefined): CertificateKeeper {
    const { client, clock, random, logger, metrics, rejoinAdvice } = this.#options
    const isDue = pair !== undefined && this.#isToBeReplaced(purpose, pair)
    const dueNow = pair === undefined ? undefined : { fingerprint: pair.chain[0].fingerprint, atMs: clock.nowMs() }
    return new CertificateKeeper({
      name: purpose,
      pair,
      remembered: isDue ? dueNow : this.#files.rotationOf(purpose),
      source: {
        request: (requestPem, signal) =>
          behindEdgeCertificate(() => client.kubernetesCertificate(purpose, requestPem, signal)),
      },
      store: {
        write: (written) => this.#files.write(purpose, written),
        rememberRotation: (rotation) => this.#files.rememberRotation(purpose, rotation),
      },
      template: (signal) => this.#template(purpose, signal),
      problemOf: (chain) => this.#problemOf(purpose, chain),
      onRotated: (renewed) => this.#renewed(purpose, renewed),
      rejoinAdvice,
      clock,
      random,
      logger,
      metrics,
    })
  }

  /** Good for what it says, but not what is wanted now. */
  #isToBeReplaced(purpose: CertificatePurpose, { chain }: CertificatePair): boolean {
    const { kubernetesCa, clock, addresses } = this.#options
    const [certificate] = chain
    if (this.#files.isForeign(purpose, certificate.fingerprint)) return true
    if (purpose === 'client') return false
    const isUntrusted = podTrustProblem(chain, kubernetesCa, clock.nowMs()) !== undefined
    return isUntrusted || addressesLackingIn(certificate, addresses).length > 0
  }

  /** The hub decides the names; what we want among them is checked before anything is signed. */
  async #template(purpose: CertificatePurpose, signal: AbortSignal): Promise<RequestTemplate> {
    const { client, node, addresses } = this.#options
    const content = await behindEdgeCertificate(() => client.certificateContent(purpose, signal))
    const { dnsNames, ipAddresses } = content
    if (purpose === 'client') return { subject: nodeSubject(node), names: { dnsNames, ipAddresses } }
    const problem = unlistedAddresses(content, addresses)
    if (problem === undefined) return { subject: nodeSubject(node), names: { dnsNames, ipAddresses } }
    // An edge that can still serve is not ended by a change at the hub; it says so and goes on asking.
    if (!this.#canServe()) this.#fail(problem)
    throw new HubError('refusal', 'address-unlisted', problem.message, { retryable: true, cause: problem })
  }

  #canServe(): boolean {
    const certificate = this.serving()?.chain[0]
    if (certificate === undefined || this.#options.clock.nowMs() > certificate.notAfterMs) return false
    return addressesLackingIn(certificate, this.#options.addresses).length === 0
  }

  #problemOf(purpose: CertificatePurpose, chain: CertificatePair['chain']): string | undefined {
    const { node, clock, addresses } = this.#options
    const [certificate] = chain
    const atMs = clock.nowMs()
    const problem = nodePairProblem(chain, { purpose, node, atMs, dates: 'check' })
    const isOutsideLife = atMs < certificate.notBeforeMs || atMs > certificate.notAfterMs
    if (problem !== undefined) return isOutsideLife ? `${problem}; ${clockHere(atMs)}` : problem
    const lacking = purpose === 'serving' ? addressesLackingIn(certificate, addresses) : []
    return lacking.length === 0 ? undefined : `it is not for ${lacking.join(', ')}, though the hub lists it`
  }

  async #renewed(purpose: CertificatePurpose, pair: CertificatePair): Promise<void> {
    if (purpose === 'serving') this.#judgeTrust()
    this.#tellGoodOffline()
    await this.#options.onRenewed?.(purpose, pair)
  }
}

/** A pair of another node, or for another use, was put there by others: it is replaced. */
async function readOwn(
  purpose: CertificatePurpose,
  files: NodePairFiles,
  { node, clock, logger }: NodeCertificatesOptions,
): Promise<CertificatePair | undefined> {
  const pair = await files.read(purpose)
  if (pair === undefined) return undefined
  const why = nodePairProblem(pair.chain, { purpose, node, atMs: clock.nowMs(), dates: 'ignore' })
  if (why === undefined) return pair
  logger.warn({ certificate: purpose, why }, 'a certificate on disk cannot be used; asking for another')
  return undefined
}

function statusOf(keeper: CertificateKeeper): NodeCertificateStatus {
  const { message: problem } = keeper.state()
  return { ends: timeOrNone(keeper.current()?.chain[0].notAfterMs), problem }
}

function timeOrNone(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : isoTime(ms)
}
