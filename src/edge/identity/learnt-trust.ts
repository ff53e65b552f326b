/**
 * Whose signature makes a peer the hub. Pinned by the join token at first; from then on the hub says which CAs it wants to be
 * known by, and those are followed for which a CA vouches that is trusted already. That is how a CA is replaced without a
 * visit. CAs may be dropped as well, but never the one that this edge's own certificate rests on.
 */
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { EdgeFiles } from './edge-files.ts'
import { ownCertificateProblem } from './own-certificate.ts'
import { isVouchedFor } from './vouched-ca.ts'

/** A hub trusts few CAs at a time; one that names more is not to be followed. */
export const MAX_LEARNT_CAS = 8
/** Cross-certificates that are looked at: as many again for each CA, and a chain has to fit. */
export const MAX_VOUCHERS = 16

export interface OfferedTrust {
  /** The CAs the hub wants to be known by, in PEM: the one that signs first. */
  readonly hubCa?: string | undefined
  readonly vouchers: readonly Certificate[]
}

export interface LearntTrustOptions {
  readonly node: string
  /** As found on disk. */
  readonly certificates: readonly Certificate[]
  /** The present certificate of this edge, then what came with it. */
  readonly ownChain: () => readonly [Certificate, ...Certificate[]] | undefined
  readonly files: Pick<EdgeFiles, 'writeHubCa'>
  readonly clock: Clock
  readonly logger: Logger
}

export class LearntTrust {
  readonly #options: LearntTrustOptions
  #certificates: readonly Certificate[]
  #signing: Certificate | undefined
  #problem: string | undefined

  constructor(options: LearntTrustOptions) {
    this.#options = options
    this.#certificates = options.certificates
  }

  get certificates(): readonly Certificate[] {
    return this.#certificates
  }

  /** Why the hub's latest list of CAs was not followed. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Whether the hub signs with another CA by now than the one our certificate is of. */
  get isOwnIssuerReplaced(): boolean {
    const chain = this.#options.ownChain()
    return this.#signing !== undefined && chain !== undefined && !this.#holds([chain[0]], [this.#signing])
  }

  /** Kept on disk before it counts. A list that cannot be followed changes nothing, and stands in `problem`. */
  async learn({ hubCa, vouchers }: OfferedTrust): Promise<void> {
    if (hubCa === undefined) return
    const offered = this.#read(hubCa)
    const problem = typeof offered === 'string' ? offered : this.#problemOf(offered, vouchers)
    if (problem !== undefined && problem !== this.#problem)
      this.#options.logger.error({ why: problem }, "the hub's list of CAs is not followed; what was trusted stays so")
    this.#problem = problem
    if (problem === undefined && typeof offered !== 'string') await this.#follow(offered)
  }

  #read(pem: string): readonly [Certificate, ...Certificate[]] | string {
    try {
      return readCertificates(pem, "the hub's list of CAs", MAX_LEARNT_CAS)
    } catch (error) {
      return (error as Error).message
    }
  }

  #problemOf(offered: readonly Certificate[], vouchers: readonly Certificate[]): string | undefined {
    if (vouchers.length > MAX_VOUCHERS)
      return `the hub names ${vouchers.length} cross-certificates, which is more than any hub needs`
    const checks = { trusted: this.#certificates, vouchers, atMs: this.#options.clock.nowMs() }
    const stranger = offered.find((ca) => !isVouchedFor(ca, checks))
    if (stranger === undefined) return undefined
    return (
      `no CA that is trusted here vouches for ${formatName(stranger.subject)} (SHA-256 ${stranger.fingerprint}), which the ` +
      "hub names as its own: either it was replaced without a cross-certificate, or somebody has stolen the hub's server key"
    )
  }

  async #follow(offered: readonly [Certificate, ...Certificate[]]): Promise<void> {
    const { files, logger } = this.#options
    this.#signing = offered[0]
    const learnt = this.#withOwn(offered)
    if (marks(learnt) === marks(this.#certificates)) return
    await files.writeHubCa(learnt)
    this.#certificates = learnt
    logger.info({ fingerprints: learnt.map(({ fingerprint }) => fingerprint) }, 'the CAs of the hub have changed')
  }

  /** An edge whose own certificate would not hold any more could not start again, so what it rests on stays meanwhile. */
  #withOwn(offered: readonly Certificate[]): readonly Certificate[] {
    const chain = this.#options.ownChain()
    if (chain === undefined || this.#holds(chain, offered)) return offered
    const missing = this.#certificates.filter((trusted) => !offered.some(({ der }) => der.equals(trusted.der)))
    return [...offered, ...missing.filter((trusted) => this.#holds(chain, [trusted]))]
  }

  #holds(chain: readonly [Certificate, ...Certificate[]], trust: readonly Certificate[]): boolean {
    const { node, clock } = this.#options
    return ownCertificateProblem(chain, { trust, atMs: clock.nowMs(), dates: 'ignore', node }) === undefined
  }
}

function marks(certificates: readonly Certificate[]): string {
  return certificates.map(({ fingerprint }) => fingerprint).join()
}
