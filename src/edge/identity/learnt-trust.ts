/**
 * Whose signature makes a peer the hub. Pinned by the join token at first; from then on the hub says, over a connection that
 * was verified with what is trusted already, which CAs it wants to be known by. That is how a CA is replaced without a visit.
 */
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { EdgeFiles } from './edge-files.ts'

/** A hub trusts few CAs at a time; one that names more is not to be followed. */
export const MAX_LEARNT_CAS = 8

export class LearntTrust {
  readonly #files: EdgeFiles
  readonly #logger: Logger
  #certificates: readonly Certificate[]

  constructor(certificates: readonly Certificate[], files: EdgeFiles, logger: Logger) {
    this.#certificates = certificates
    this.#files = files
    this.#logger = logger
  }

  get certificates(): readonly Certificate[] {
    return this.#certificates
  }

  /** Kept on disk before it counts. What is unreadable or no CA changes nothing. */
  async learn(pem: string | undefined): Promise<void> {
    if (pem === undefined) return
    const learnt = readCertificates(pem, "the hub's list of CAs")
    if (learnt.length > MAX_LEARNT_CAS || !learnt.every(({ isCa }) => isCa))
      throw new Error("the hub's list of CAs holds too many certificates, or some that are no CAs; it is not followed")
    if (marks(learnt) === marks(this.#certificates)) return
    await this.#files.writeHubCa(learnt)
    this.#certificates = learnt
    this.#logger.info({ fingerprints: learnt.map(({ fingerprint }) => fingerprint) }, 'the CAs of the hub have changed')
  }
}

function marks(certificates: readonly Certificate[]): string {
  return certificates.map(({ fingerprint }) => fingerprint).join()
}
