/** The extensions of certificates and of signing requests, read into plain values and written from them. */
import { OctetString } from 'asn1js'
import { AuthorityKeyIdentifier, BasicConstraints, Extension } from 'pkijs'
import {
  type AlternativeNames,
  decodeAlternativeNames,
  encodeAlternativeNames,
  NO_NAMES,
  type RequestedNames,
} from './alternative-names.ts'
import { ownBytes, readDer, readStructure } from './der.ts'
import { IdentityError } from './errors.ts'
import {
  decodeExtendedKeyUsages,
  decodeKeyUsages,
  type ExtendedKeyUsage,
  encodeExtendedKeyUsages,
  encodeKeyUsages,
  type KeyUsage,
} from './usages.ts'

const SUBJECT_KEY_ID = '2.5.29.14'
const KEY_USAGE = '2.5.29.15'
const ALTERNATIVE_NAMES = '2.5.29.17'
const BASIC_CONSTRAINTS = '2.5.29.19'
const NAME_CONSTRAINTS = '2.5.29.30'
const AUTHORITY_KEY_ID = '2.5.29.35'
const EXTENDED_KEY_USAGE = '2.5.29.37'

export interface RawExtension {
  readonly oid: string
  readonly critical: boolean
  readonly value: Buffer
}

export interface ExtensionValues {
  readonly extensions: readonly RawExtension[]
  readonly isCa: boolean
  /** How many further CAs may stand below this one; `undefined` is no limit. */
  readonly pathLength: number | undefined
  /** `undefined`: the certificate does not say. */
  readonly keyUsages: readonly KeyUsage[] | undefined
  readonly extendedKeyUsages: readonly ExtendedKeyUsage[] | undefined
  readonly names: AlternativeNames
  /** Lower-case hex. */
  readonly subjectKeyId: string | undefined
  readonly authorityKeyId: string | undefined
  /** Object identifiers of restrictions that we do not understand: who relies on the certificate must refuse it. */
  readonly unhandled: readonly string[]
}

const understood: ReadonlySet<string> = new Set([
  SUBJECT_KEY_ID,
  KEY_USAGE,
  ALTERNATIVE_NAMES,
  BASIC_CONSTRAINTS,
  AUTHORITY_KEY_ID,
  EXTENDED_KEY_USAGE,
])

export function decodeExtensions(extensions: readonly Extension[], source: string): ExtensionValues {
  const byOid = new Map<string, RawExtension>()
  for (const { extnID: oid, critical, extnValue } of extensions) {
    if (byOid.has(oid)) throw malformed(`${source} carries the extension ${oid} twice`)
    byOid.set(oid, { oid, critical, value: Buffer.from(extnValue.valueBlock.valueHexView) })
  }
  function read<T>(oid: string, decode: (der: Uint8Array, source: string) => T): T | undefined {
    const extension = byOid.get(oid)
    return extension === undefined ? undefined : decode(extension.value, source)
  }
  const { isCa, pathLength } = read(BASIC_CONSTRAINTS, decodeBasicConstraints) ?? { isCa: false, pathLength: undefined }
  const all = [...byOid.values()]
  return {
    extensions: all,
    isCa,
    pathLength,
    keyUsages: read(KEY_USAGE, decodeKeyUsages),
    extendedKeyUsages: read(EXTENDED_KEY_USAGE, decodeExtendedKeyUsages),
    names: read(ALTERNATIVE_NAMES, decodeAlternativeNames) ?? NO_NAMES,
    subjectKeyId: read(SUBJECT_KEY_ID, decodeSubjectKeyId),
    authorityKeyId: read(AUTHORITY_KEY_ID, decodeAuthorityKeyId),
    unhandled: all.filter(isUnhandled).map(({ oid }) => oid),
  }
}

/** Name constraints bind even where their writer forgot to mark them critical. */
function isUnhandled({ oid, critical }: RawExtension): boolean {
  return (critical && !understood.has(oid)) || oid === NAME_CONSTRAINTS
}

function decodeBasicConstraints(der: Uint8Array, source: string): { isCa: boolean; pathLength: number | undefined } {
  const where = `the basic constraints of ${source}`
  const { cA, pathLenConstraint } = readStructure(BasicConstraints, der, 'malformed-extension', where)
  if (pathLenConstraint === undefined) return { isCa: cA, pathLength: undefined }
  const isLength = typeof pathLenConstraint === 'number' && pathLenConstraint >= 0
  if (!isLength || !cA) throw malformed(`${where} limit the path in a way that makes no sense`)
  return { isCa: cA, pathLength: pathLenConstraint }
}

function decodeSubjectKeyId(der: Uint8Array, source: string): string {
  const value = readDer(der, `the subject key id of ${source}`)
  if (!(value instanceof OctetString)) throw malformed(`the subject key id of ${source} is not a byte string`)
  return Buffer.from(value.valueBlock.valueHexView).toString('hex')
}

function decodeAuthorityKeyId(der: Uint8Array, source: string): string | undefined {
  const where = `the authority key id of ${source}`
  const { keyIdentifier } = readStructure(AuthorityKeyIdentifier, der, 'malformed-extension', where)
  return keyIdentifier === undefined ? undefined : Buffer.from(keyIdentifier.valueBlock.valueHexView).toString('hex')
}

export interface RequestedExtensions {
  /** Left out of signing requests, where it would only be noise. */
  readonly basicConstraints?: { readonly isCa: boolean; readonly pathLength?: number | undefined }
  readonly keyUsages?: readonly KeyUsage[] | undefined
  readonly extendedKeyUsages?: readonly ExtendedKeyUsage[] | undefined
  readonly names?: RequestedNames | undefined
  /** With an empty subject the names are all there is, and the extension must be critical. */
  readonly namesAreCritical?: boolean
  readonly subjectKeyId?: Uint8Array
  readonly authorityKeyId?: Uint8Array | undefined
}

export function encodeExtensions(requested: RequestedExtensions): Extension[] {
  const { basicConstraints, keyUsages = [], extendedKeyUsages = [], subjectKeyId, authorityKeyId } = requested
  const names = encodeAlternativeNames(requested.names ?? {})
  const list: Extension[] = []
  function add(extnID: string, critical: boolean, value: Uint8Array | undefined): void {
    if (value !== undefined) list.push(new Extension({ extnID, critical, extnValue: ownBytes(value).buffer }))
  }
  add(BASIC_CONSTRAINTS, true, basicConstraints && encodeBasicConstraints(basicConstraints))
  add(KEY_USAGE, true, keyUsages.length === 0 ? undefined : encodeKeyUsages(keyUsages))
  add(
    EXTENDED_KEY_USAGE,
    false,
    extendedKeyUsages.length === 0 ? undefined : encodeExtendedKeyUsages(extendedKeyUsages),
  )
  add(SUBJECT_KEY_ID, false, subjectKeyId && encodeOctets(subjectKeyId))
  add(AUTHORITY_KEY_ID, false, authorityKeyId && encodeAuthorityKeyId(authorityKeyId))
  add(ALTERNATIVE_NAMES, requested.namesAreCritical ?? false, names)
  return list
}

function encodeBasicConstraints({ isCa, pathLength }: { isCa: boolean; pathLength?: number | undefined }): Uint8Array {
  const limit = pathLength === undefined ? {} : { pathLenConstraint: pathLength }
  return new Uint8Array(new BasicConstraints({ cA: isCa, ...limit }).toSchema().toBER())
}

function encodeOctets(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(new OctetString({ valueHex: ownBytes(bytes) }).toBER())
}

function encodeAuthorityKeyId(bytes: Uint8Array): Uint8Array {
  const keyIdentifier = new OctetString({ valueHex: ownBytes(bytes) })
  return new Uint8Array(new AuthorityKeyIdentifier({ keyIdentifier }).toSchema().toBER())
}

function malformed(message: string): IdentityError {
  return new IdentityError('malformed-extension', message)
}
