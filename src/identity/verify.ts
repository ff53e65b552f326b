/**
 * Whether a peer's certificate is to be believed: our own walk from it to a trusted CA, each rule in sight, each failure
 * with a reason a program can act on. Nothing is ever concluded from the error text of a TLS library.
 */
import { isIP } from 'node:net'
import { canonicalIpAddress } from '../network/ip-address.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { type Certificate, isSelfIssued } from './certificate.ts'
import { formatName } from './distinguished-name.ts'
import type { IdentityError } from './errors.ts'
import { keyKind } from './keys.ts'
import { isAcceptedSignature } from './signature.ts'

/** The peer, its CAs and the trusted one together. */
export const MAX_CHAIN_LENGTH = 8
/** Certificates that name each other in circles must not keep us busy. */
export const MAX_SIGNATURE_CHECKS = 32

export type VerificationReason =
  | 'untrusted'
  | 'bad-signature'
  | 'not-a-ca'
  | 'path-too-long'
  | 'expired'
  | 'not-yet-valid'
  | 'wrong-usage'
  | 'wrong-host'
  | 'weak-key'
  | 'unsupported'
  | 'too-complex'

export interface VerificationFailure {
  readonly reason: VerificationReason
  readonly message: string
  /** The certificate at fault: the peer's, or that of a CA above it. */
  readonly certificate: Certificate
}

export interface VerificationOptions {
  /** Every certificate in it is trusted to sign, whether or not it signed itself. */
  readonly trust: readonly Certificate[]
  /** What the peer sent along; helps to find the way, is never trusted. */
  readonly intermediates?: readonly Certificate[]
  readonly usage: 'clientAuth' | 'serverAuth'
  readonly atMs: number
  /** How long past its end the peer's own certificate is still accepted. CAs get no grace. */
  readonly graceMs?: number
  /** A certificate that lists no extended usage: `refuse` (the default), or `accept` it as good for any, as Go does. */
  readonly ifUsageAbsent?: 'refuse' | 'accept'
  /** A DNS name or IP address the certificate must speak for, by its alternative names; the common name counts for nothing. */
  readonly host?: string
}

export type Verification =
  | {
      readonly ok: true
      /** From the peer's certificate to the trusted one. */
      readonly chain: readonly Certificate[]
      /** Zero, or how long ago the peer's certificate ended where grace let it pass. */
      readonly expiredForMs: number
    }
  | {
      readonly ok: false
      readonly reason: VerificationReason
      readonly message: string
      /** All that is wrong, the gravest first: what breaks the chain stands before what is wrong with the peer alone. */
      readonly failures: readonly VerificationFailure[]
    }

export function verifyCertificate(certificate: Certificate, options: VerificationOptions): Verification {
  const search = new ChainSearch(options)
  const chain = search.from([certificate])
  const failures = [...(chain === undefined ? search.failures() : []), ...peerFailures(certificate, options)]
  const [first] = failures
  if (chain !== undefined && first === undefined)
    return { ok: true, chain, expiredForMs: Math.max(0, options.atMs - endMs(certificate)) }
  return { ok: false, reason: first?.reason ?? 'untrusted', message: first?.message ?? '', failures }
}

/** The last instant in which the certificate is valid: dates are whole seconds, and the last one counts. */
function endMs({ notAfterMs }: Certificate): number {
  return notAfterMs + 999
}

function peerFailures(certificate: Certificate, options: VerificationOptions): VerificationFailure[] {
  const { usage, ifUsageAbsent = 'refuse', graceMs = 0 } = options
  const failures = [...restrictionFailures(certificate)]
  if (certificate.extendedKeyUsages === undefined && ifUsageAbsent === 'refuse')
    failures.push(failure('wrong-usage', certificate, `does not say that it may be used for ${usage}`))
  failures.push(...usageFailures(certificate, usage), ...hostFailures(certificate, options.host))
  failures.push(...dateFailures(certificate, options.atMs, graceMs))
  return failures
}

function restrictionFailures(certificate: Certificate): VerificationFailure[] {
  const failures: VerificationFailure[] = []
  const { unhandled } = certificate
  if (unhandled.length > 0)
    failures.push(failure('unsupported', certificate, `has restrictions we do not understand: ${unhandled.join(', ')}`))
  try {
    keyKind(certificate.publicKey, formatName(certificate.subject))
  } catch (error) {
    const reason = (error as IdentityError).code === 'weak-key' ? 'weak-key' : 'unsupported'
    failures.push({ reason, certificate, message: (error as IdentityError).message })
  }
  return failures
}

/** A CA that lists usages limits all below it to them. */
function usageFailures(certificate: Certificate, usage: VerificationOptions['usage']): VerificationFailure[] {
  const listed = certificate.extendedKeyUsages
  if (listed === undefined || listed.includes(usage) || listed.includes('any')) return []
  return [failure('wrong-usage', certificate, `may be used for ${listed.join(', ')}, not for ${usage}`)]
}

function hostFailures(certificate: Certificate, host: string | undefined): VerificationFailure[] {
  if (host === undefined || speaksFor(certificate, host)) return []
  const { dnsNames, ipAddresses } = certificate.names
  const names = [...dnsNames, ...ipAddresses].join(', ') || 'no host'
  return [failure('wrong-host', certificate, `speaks for ${names}, not for ${host}`)]
}

/** Whether the alternative names of a certificate cover a DNS name or an IP address. */
export function speaksFor({ x509, names }: Certificate, host: string): boolean {
  if (isIP(host) !== 0) return names.ipAddresses.includes(canonicalIpAddress(host) ?? '')
  // OpenSSL takes a leading dot to mean every name below; a host never starts with one.
  if (host.startsWith('.') || host.includes('\0')) return false
  return x509.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined
}

/** Written so that a time that is no number is outside every life. */
function dateFailures(certificate: Certificate, atMs: number, graceMs: number): VerificationFailure[] {
  if (!(atMs >= certificate.notBeforeMs))
    return [failure('not-yet-valid', certificate, `is valid only from ${isoTime(certificate.notBeforeMs)} on`)]
  if (!(atMs <= endMs(certificate) + graceMs))
    return [failure('expired', certificate, `has expired at ${isoTime(certificate.notAfterMs)}`)]
  return []
}

class ChainSearch {
  readonly #options: VerificationOptions
  readonly #failures: VerificationFailure[] = []
  #signatureChecks = 0

  constructor(options: VerificationOptions) {
    this.#options = options
  }

  /** Depth first; `path` runs from the peer upwards and its last certificate is already found good but for its issuer. */
  from(path: readonly [Certificate, ...Certificate[]]): readonly Certificate[] | undefined {
    const top = path.at(-1) ?? path[0]
    if (this.#options.trust.some((trusted) => trusted.der.equals(top.der))) return path
    const candidates = this.#issuersOf(top, path)
    if (candidates.length === 0)
      this.#fail('untrusted', top, isSelfIssued(top) ? 'is a CA that is not trusted here' : issuedByStranger(top))
    for (const candidate of candidates) {
      if (!this.#isSigner(candidate, top)) continue
      const problems = this.#problemsOf(candidate, path)
      this.#failures.push(...problems)
      const chain = problems.length === 0 ? this.from([...path, candidate]) : undefined
      if (chain !== undefined) return chain
    }
    return undefined
  }

  /** What stood in the way. A genuine issuer with a fault says more than a stranger that only has the right name. */
  failures(): VerificationFailure[] {
    const rank = ({ reason }: VerificationFailure): number =>
      reason === 'untrusted' ? 2 : reason === 'bad-signature' ? 1 : 0
    return this.#failures.toSorted((a, b) => rank(a) - rank(b))
  }

  #issuersOf(certificate: Certificate, path: readonly Certificate[]): Certificate[] {
    const { trust, intermediates = [] } = this.#options
    const byFingerprint = new Map([...trust, ...intermediates].map((each) => [each.fingerprint, each]))
    return [...byFingerprint.values()]
      .filter((candidate) => candidate.subjectDer.equals(certificate.issuerDer))
      .filter((candidate) => !path.some((used) => used.der.equals(candidate.der)))
  }

  #isSigner(candidate: Certificate, signed: Certificate): boolean {
    if (++this.#signatureChecks > MAX_SIGNATURE_CHECKS) {
      this.#fail('too-complex', signed, `has more possible issuers than the ${MAX_SIGNATURE_CHECKS} we try`)
      return false
    }
    if (!isAcceptedSignature(signed.signatureAlgorithm)) {
      this.#fail(
        'unsupported',
        signed,
        `is signed with the algorithm ${signed.signatureAlgorithm}, which we do not accept`,
      )
      return false
    }
    if (isSignedWith(candidate, signed)) return true
    const otherKey = signed.authorityKeyId !== undefined && candidate.subjectKeyId !== undefined
    if (otherKey && signed.authorityKeyId !== candidate.subjectKeyId)
      this.#fail('untrusted', signed, `was issued by another CA of the name ${formatName(signed.issuer)}`)
    else this.#fail('bad-signature', signed, `was not signed by ${formatName(candidate.subject)}, whatever it says`)
    return false
  }

  /** Why the holder of a right signature may still not issue the top of `path`. */
  #problemsOf(candidate: Certificate, path: readonly Certificate[]): VerificationFailure[] {
    const problems = [...restrictionFailures(candidate)]
    if (!candidate.isCa || candidate.keyUsages?.includes('keyCertSign') === false)
      problems.push(failure('not-a-ca', candidate, 'is not allowed to sign certificates'))
    const casBelow = path.slice(1).filter((below) => !isSelfIssued(below)).length
    if (casBelow > (candidate.pathLength ?? Number.POSITIVE_INFINITY))
      problems.push(failure('path-too-long', candidate, `allows ${candidate.pathLength} CAs below it, not ${casBelow}`))
    if (path.length + 1 > MAX_CHAIN_LENGTH)
      problems.push(failure('path-too-long', candidate, `would make the chain longer than ${MAX_CHAIN_LENGTH}`))
    problems.push(...usageFailures(candidate, this.#options.usage), ...dateFailures(candidate, this.#options.atMs, 0))
    return problems
  }

  #fail(reason: VerificationReason, certificate: Certificate, problem: string): void {
    this.#failures.push(failure(reason, certificate, problem))
  }
}

/** CAs of one program often have one name; the key id tells them apart. */
function issuedByStranger({ issuer, authorityKeyId }: Certificate): string {
  const key = authorityKeyId === undefined ? '' : ` (key id ${authorityKeyId})`
  return `was issued by ${formatName(issuer)}${key}, which is not a CA we trust`
}

function isSignedWith(candidate: Certificate, signed: Certificate): boolean {
  try {
    return signed.x509.checkIssued(candidate.x509) && signed.x509.verify(candidate.publicKey)
  } catch {
    return false
  }
}

function failure(reason: VerificationReason, certificate: Certificate, problem: string): VerificationFailure {
  return { reason, certificate, message: `the certificate ${formatName(certificate.subject)} ${problem}` }
}
