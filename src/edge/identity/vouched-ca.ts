/**
 * Whether a CA that the hub names is to be trusted. That the hub named it over a verified connection proves that somebody has
 * the key of a server certificate, and no more: whoever steals that key must not become the CA of the edges by it. So a CA
 * that trusted ones do not include yet needs a certificate for its name and key that one of them has signed.
 */
import { type Certificate, isSelfIssued } from '../../identity/certificate.ts'
import { keyMatchesCertificate } from '../../identity/keys.ts'
import { verifyCertificate } from '../../identity/verify.ts'

export interface VouchingChecks {
  readonly trusted: readonly Certificate[]
  /** Cross-certificates from anywhere: each counts only as far as a trusted CA has signed it. */
  readonly vouchers: readonly Certificate[]
  readonly atMs: number
}

export function isVouchedFor(ca: Certificate, { trusted, vouchers, atMs }: VouchingChecks): boolean {
  if (trusted.some(({ der }) => der.equals(ca.der))) return true
  if (!mayBeTrusted(ca, atMs)) return false
  return [ca, ...vouchers].some(
    (voucher) => isSameCa(voucher, ca) && isSignedAsCa(voucher, { trusted, vouchers, atMs }),
  )
}

/** What it says of itself is its own word: a CA, alive, signed with the key that is vouched for. */
function mayBeTrusted(ca: Certificate, atMs: number): boolean {
  const isAlive = atMs >= ca.notBeforeMs && atMs <= ca.notAfterMs
  return isAuthority(ca) && isAlive && (!isSelfIssued(ca) || hasSignedItself(ca))
}

function hasSignedItself({ x509, publicKey }: Certificate): boolean {
  try {
    return x509.verify(publicKey)
  } catch {
    return false
  }
}

function isAuthority({ isCa, keyUsages }: Certificate): boolean {
  return isCa && keyUsages?.includes('keyCertSign') !== false
}

function isSameCa(voucher: Certificate, ca: Certificate): boolean {
  return voucher.subjectDer.equals(ca.subjectDer) && keyMatchesCertificate(ca.publicKey, voucher)
}

/** By the rules for every peer, and by those for a CA: such as how many may stand below another. */
function isSignedAsCa(voucher: Certificate, { trusted, vouchers, atMs }: VouchingChecks): boolean {
  if (!isAuthority(voucher)) return false
  const result = verifyCertificate(voucher, {
    trust: trusted,
    intermediates: vouchers,
    usage: 'serverAuth',
    ifUsageAbsent: 'accept',
    atMs,
  })
  if (!result.ok) return false
  const [, ...above] = result.chain
  return above.every(({ pathLength = Number.POSITIVE_INFINITY }, casBetween) => casBetween + 1 <= pathLength)
}
