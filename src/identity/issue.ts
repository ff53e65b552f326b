/**
 * Issues certificates. The caller decides everything a certificate says; this file sees to it that the CA may say it and
 * that chains built from the result verify. Nothing is adjusted in silence.
 */
import { createHash, type KeyObject, randomBytes } from 'node:crypto'
import { BitString, Integer } from 'asn1js'
import { Certificate as CertificateStructure, PublicKeyInfo, RelativeDistinguishedNames, Time, TimeType } from 'pkijs'
import type { Clock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { RequestedNames } from './alternative-names.ts'
import { type Certificate, parseCertificate, type Validity } from './certificate.ts'
import { ownBytes } from './der.ts'
import { type DistinguishedName, encodeName, formatName } from './distinguished-name.ts'
import { IdentityError, rethrowAs } from './errors.ts'
import { encodeExtensions } from './extensions.ts'
import { keyKind, keyMatchesCertificate, publicKeyDer } from './keys.ts'
import { signatureAlgorithmOf, signBytes } from './signature.ts'
import type { ExtendedKeyUsage, KeyUsage } from './usages.ts'

/** More than anybody can guess, less than the twenty bytes that X.509 allows. */
const SERIAL_NUMBER_BYTES = 16
/** Clocks of two machines differ; a certificate is dated back by this much so that it is valid where it arrives. */
export const CLOCK_SKEW_MS = 5 * 60 * 1000

const KEY_ID_BYTES = 20
const VERSION_3 = 2

export interface CertificateAuthority {
  readonly certificate: Certificate
  readonly privateKey: KeyObject
}

export interface CertificateTemplate extends Validity {
  readonly subject: DistinguishedName
  readonly names?: RequestedNames
  readonly keyUsages?: readonly KeyUsage[]
  readonly extendedKeyUsages?: readonly ExtendedKeyUsage[]
  /** Present: the certificate is one of a CA, with at most `pathLength` CAs below it (no limit if left out). */
  readonly ca?: { readonly pathLength?: number | undefined }
}

export interface IssueOptions {
  /** What to do with a life that ends after the CA's: `refuse` (the default), or `cap` it to the CA's end. */
  readonly ifOutlivesCa?: 'refuse' | 'cap'
}

const caKeyUsages: readonly KeyUsage[] = ['digitalSignature', 'keyCertSign', 'cRLSign']

/** A life that begins a little before now and lasts `lifeMs` from now, in the whole seconds that certificates count in. */
export function validityFromNow(clock: Clock, lifeMs: number): Validity {
  const nowMs = clock.nowMs()
  return { notBeforeMs: wholeSecond(nowMs - CLOCK_SKEW_MS), notAfterMs: wholeSecond(nowMs + lifeMs) }
}

export async function issueSelfSignedCa(
  template: Omit<CertificateTemplate, 'ca'> & { readonly pathLength?: number },
  privateKey: KeyObject,
): Promise<CertificateAuthority> {
  const { pathLength, ...rest } = template
  const issuer = { subjectDer: encodeName(template.subject), keyId: keyId(privateKey), privateKey }
  return { certificate: await issue({ ...rest, ca: { pathLength } }, privateKey, issuer), privateKey }
}

/** A certificate for `publicKey`; its private half is neither needed nor wanted here. */
export async function issueCertificate(
  authority: CertificateAuthority,
  template: CertificateTemplate,
  publicKey: KeyObject,
  options: IssueOptions = {},
): Promise<Certificate> {
  checkAuthority(authority, template)
  const { certificate, privateKey } = authority
  const notAfterMs = endOfLife(certificate, template, options)
  const issuerKeyId = certificate.subjectKeyId === undefined ? undefined : Buffer.from(certificate.subjectKeyId, 'hex')
  const issuer = { subjectDer: certificate.subjectDer, keyId: issuerKeyId, privateKey }
  return await issue({ ...template, notAfterMs }, publicKey, issuer)
}

function checkAuthority({ certificate, privateKey }: CertificateAuthority, template: CertificateTemplate): void {
  const name = formatName(certificate.subject)
  if (!certificate.isCa || certificate.keyUsages?.includes('keyCertSign') === false)
    throw new IdentityError('not-a-ca', `${name} is not the certificate of a CA and cannot sign others`)
  if (!keyMatchesCertificate(privateKey, certificate))
    throw new IdentityError('key-mismatch', `the private key does not belong to the CA certificate ${name}`)
  const below = certificate.pathLength
  if (template.ca !== undefined && below !== undefined && (template.ca.pathLength ?? Number.POSITIVE_INFINITY) >= below)
    throw new IdentityError('path-too-long', `the CA ${name} allows ${below} CAs below it; the wanted one needs more`)
}

function endOfLife(ca: Certificate, template: CertificateTemplate, { ifOutlivesCa }: IssueOptions): number {
  if (wholeSecond(template.notAfterMs) <= ca.notAfterMs) return template.notAfterMs
  const caEnds = `the CA ${formatName(ca.subject)} ends at ${isoTime(ca.notAfterMs)}`
  if (ifOutlivesCa === 'cap' && template.notBeforeMs < ca.notAfterMs) return ca.notAfterMs
  throw new IdentityError(
    'outlives-ca',
    `a certificate until ${isoTime(template.notAfterMs)} is not possible: ${caEnds}`,
  )
}

interface Issuer {
  readonly subjectDer: Uint8Array
  readonly keyId: Uint8Array | undefined
  readonly privateKey: KeyObject
}

async function issue(template: CertificateTemplate, subjectKey: KeyObject, issuer: Issuer): Promise<Certificate> {
  keyKind(subjectKey, `the key of ${formatName(template.subject)}`)
  const algorithm = signatureAlgorithmOf(issuer.privateKey)
  const structure = rethrowAs('invalid-template', 'the wanted certificate cannot be encoded', () => {
    const certificate = toBeSigned(template, subjectKey, issuer)
    certificate.signature = algorithm
    certificate.signatureAlgorithm = algorithm
    certificate.tbsView = new Uint8Array(certificate.encodeTBS().toBER())
    return certificate
  })
  const signature = await signBytes(issuer.privateKey, structure.tbsView)
  structure.signatureValue = new BitString({ valueHex: ownBytes(signature) })
  return parseCertificate(new Uint8Array(structure.toSchema().toBER()), 'the issued certificate')
}

function toBeSigned(template: CertificateTemplate, subjectKey: KeyObject, issuer: Issuer): CertificateStructure {
  const { subject, ca, names, extendedKeyUsages } = template
  checkTemplate(template)
  return new CertificateStructure({
    version: VERSION_3,
    serialNumber: randomSerialNumber(),
    issuer: new RelativeDistinguishedNames({ valueBeforeDecode: ownBytes(issuer.subjectDer).buffer }),
    notBefore: timeOf(template.notBeforeMs),
    notAfter: timeOf(template.notAfterMs),
    subject: new RelativeDistinguishedNames({ valueBeforeDecode: encodeName(subject).buffer }),
    subjectPublicKeyInfo: PublicKeyInfo.fromBER(ownBytes(publicKeyDer(subjectKey))),
    extensions: encodeExtensions({
      basicConstraints: { isCa: ca !== undefined, pathLength: ca?.pathLength },
      keyUsages: template.keyUsages ?? (ca === undefined ? undefined : caKeyUsages),
      extendedKeyUsages,
      names,
      namesAreCritical: subject.length === 0,
      subjectKeyId: keyId(subjectKey),
      authorityKeyId: issuer.keyId,
    }),
  })
}

function checkTemplate({ subject, names = {}, notBeforeMs, notAfterMs, ca, keyUsages }: CertificateTemplate): void {
  if (!(wholeSecond(notAfterMs) > wholeSecond(notBeforeMs)))
    throw invalid(`its life, from ${isoTime(notBeforeMs)} to ${isoTime(notAfterMs)}, is shorter than a second`)
  if (subject.length === 0 && Object.values(names).every((list) => list.length === 0))
    throw invalid('it has neither a subject nor an alternative name')
  if (ca !== undefined && keyUsages?.includes('keyCertSign') === false)
    throw invalid('it is for a CA, but its key usages do not include keyCertSign')
  if (ca?.pathLength !== undefined && !(Number.isInteger(ca.pathLength) && ca.pathLength >= 0))
    throw invalid(`its path length ${ca.pathLength} is no count`)
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}

/** X.509 writes years up to 2049 with two digits, later ones with four, and knows nothing finer than a second. */
function timeOf(ms: number): Time {
  const value = new Date(wholeSecond(ms))
  const year = value.getUTCFullYear()
  if (!(year >= 1950 && year <= 9999)) throw invalid(`a date is out of range: ${isoTime(ms)}`)
  return new Time({ type: year < 2050 ? TimeType.UTCTime : TimeType.GeneralizedTime, value })
}

/** Random, so that nobody can foretell what a CA will sign; a zero byte in front keeps the number positive. */
function randomSerialNumber(): Integer {
  const random = randomBytes(SERIAL_NUMBER_BYTES)
  random[0] = (random[0] ?? 0) | 0x80
  return new Integer({ valueHex: ownBytes(Buffer.concat([Buffer.of(0), random])) })
}

/** Any value that tells keys apart will do (RFC 7093): a SHA-256 of the public key, cut short. */
function keyId(key: KeyObject): Buffer {
  return createHash('sha256').update(publicKeyDer(key)).digest().subarray(0, KEY_ID_BYTES)
}

function invalid(problem: string): IdentityError {
  return new IdentityError('invalid-template', `the wanted certificate cannot be: ${problem}`)
}
