/** What a hub does about the certificates that the cluster signs for a node, without hub, network or cluster. */

import type { CertificateContent } from '../../src/edge/hub/hub-client.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { readRequest } from '../../src/identity/csr.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import type { CertificatePurpose } from '../../src/protocol/requests.ts'
import type { Clock } from '../../src/runtime/clock.ts'

const hourMs = 3_600_000

export class SigningHub {
  readonly #clock: Clock
  ca: CertificateAuthority
  /** For serving certificates. */
  ipAddresses: readonly string[] = ['10.96.0.1', '127.0.0.1', '169.254.30.10', '::1']
  lifeMs = 10 * hourMs
  /** Asked before each answer; throws in the place of a hub that cannot or will not. */
  before: (purpose: CertificatePurpose) => void = () => {}
  /** Put in place of what was asked for, by a cluster that signs something else. */
  signedAs: (purpose: CertificatePurpose) => CertificatePurpose = (purpose) => purpose
  /** What was signed, in order. */
  readonly signed: CertificatePurpose[] = []

  constructor(clock: Clock, ca: CertificateAuthority) {
    this.#clock = clock
    this.ca = ca
  }

  async certificateContent(purpose: CertificatePurpose): Promise<CertificateContent> {
    this.before(purpose)
    const isServing = purpose === 'serving'
    return {
      subject: { commonName: 'system:node:edge-1', organizations: ['system:nodes'] },
      dnsNames: isServing ? ['kubernetes.default.svc'] : [],
      ipAddresses: isServing ? [...this.ipAddresses] : [],
      expirationSeconds: this.lifeMs / 1000,
    }
  }

  async kubernetesCertificate(purpose: CertificatePurpose, requestPem: string): Promise<string> {
    this.before(purpose)
    const { subject, publicKey, names } = await readRequest(requestPem)
    const extendedKeyUsages = [this.signedAs(purpose) === 'serving' ? ('serverAuth' as const) : ('clientAuth' as const)]
    const { dnsNames, ipAddresses } = names
    const validity = validityFromNow(this.#clock, this.lifeMs)
    const template = { subject, names: { dnsNames, ipAddresses }, extendedKeyUsages, ...validity }
    const certificate = await issueCertificate(this.ca, template, publicKey)
    this.signed.push(purpose)
    return certificatePem(certificate)
  }
}
