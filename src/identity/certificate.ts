/**
 * X.509 certificates as plain values. OpenSSL, through Node, reads keys, dates and serial numbers; what it does not tell
 * (names as typed lists, CA flags, usages) is read from the same bytes. The bytes are strict DER, so both see one thing.
 */
import { createHash, type KeyObject, X509Certificate } from 'node:crypto'
import { Certificate as CertificateStructure } from 'pkijs'
import { readStructure } from './der.ts'
import { type DistinguishedName, decodeName } from './distinguished-name.ts'
import { IdentityError, rethrowAs } from './errors.ts'
import { decodeExtensions, type ExtensionValues } from './extensions.ts'
import { MAX_PEM_BLOCKS, readPem, writePem } from './pem.ts'

/** Room for some hundred names; a usual certificate has one kilobyte. Reading one of this size takes some hundredths of a second. */
const MAX_CERTIFICATE_BYTES = 16 * 1024
const CERTIFICATE_LABEL = 'CERTIFICATE'

export interface Validity {
  readonly notBeforeMs: number
  /** The last second of the life; the certificate is still valid in it. */
  readonly notAfterMs: number
}

export interface Certificate extends Validity, ExtensionValues {
  readonly der: Buffer
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /** Names in chains are compared by their bytes, not by their text. */
  readonly subjectDer: Buffer
  readonly issuerDer: Buffer
  /** Lower-case hex without leading zeros. */
  readonly serialNumber: string
  readonly publicKey: KeyObject
  readonly signatureAlgorithm: string
  /** SHA-256 of the whole certificate, lower-case hex. */
  readonly fingerprint: string
  /** Node's own view, for TLS calls and for checking signatures. */
  readonly x509: X509Certificate
}

/** One certificate from its DER. `source` names it in messages. */
export function parseCertificate(der: Uint8Array, source = 'the certificate'): Certificate {
  if (der.length > MAX_CERTIFICATE_BYTES)
    throw new IdentityError('too-large', `${source} is larger than ${MAX_CERTIFICATE_BYTES} bytes`)
  const structure = readStructure(CertificateStructure, der, 'malformed-certificate', source)
  return rethrowAs('malformed-certificate', `${source} cannot be read`, () => certificateOf(structure, der, source))
}

function certificateOf(structure: CertificateStructure, der: Uint8Array, source: string): Certificate {
  const x509 = new X509Certificate(der)
  const { subject, issuer } = structure
  return {
    ...decodeExtensions(structure.extensions ?? [], source),
    der: Buffer.from(der),
    subject: decodeName(subject, 'malformed-certificate', source),
    issuer: decodeName(issuer, 'malformed-certificate', source),
    subjectDer: Buffer.from(subject.valueBeforeDecode),
    issuerDer: Buffer.from(issuer.valueBeforeDecode),
    serialNumber: x509.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
    notBeforeMs: dateOf(x509.validFrom, source),
    notAfterMs: dateOf(x509.validTo, source),
    publicKey: x509.publicKey,
    signatureAlgorithm: structure.signatureAlgorithm.algorithmId,
    fingerprint: createHash('sha256').update(der).digest('hex'),
    x509,
  }
}

/** OpenSSL prints dates as `Jan  1 00:00:00 2026 GMT`. */
function dateOf(text: string, source: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw new IdentityError('malformed-certificate', `${source} has a date that is none: ${text}`)
  return ms
}

/**
 * Every certificate of a PEM text, at least one; other blocks, such as a key beside them, are passed over. More than `max` are not even
 * read: what comes from a peer should say how many there may be.
 */
export function readCertificates(
  pem: string | Uint8Array,
  source: string,
  max = MAX_PEM_BLOCKS,
): [Certificate, ...Certificate[]] {
  const blocks = readPem(pem, source).filter(({ label }) => label === CERTIFICATE_LABEL)
  if (blocks.length > max) throw new IdentityError('too-large', `${source} holds more than ${max} certificates`)
  const [first, ...others] = blocks.map(({ der }, index) =>
    parseCertificate(der, blocks.length === 1 ? source : `certificate ${index + 1} of ${source}`),
  )
  if (first === undefined) throw new IdentityError('none-found', `${source} holds no certificate`)
  return [first, ...others]
}

export function certificatePem(...certificates: readonly Certificate[]): string {
  return certificates.map(({ der }) => writePem(CERTIFICATE_LABEL, der)).join('')
}

/** Signed in its own name. Whether also by its own key is a question for `verify.ts`. */
export function isSelfIssued({ subjectDer, issuerDer }: Certificate): boolean {
  return subjectDer.equals(issuerDer)
}
