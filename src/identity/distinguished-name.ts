/** Distinguished names: who a certificate is about, as an ordered list of attributes. */
import {
  type AsnType,
  BmpString,
  IA5String,
  NumericString,
  ObjectIdentifier,
  PrintableString,
  Sequence,
  Set as SetOf,
  TeletexString,
  Utf8String,
  VisibleString,
} from 'asn1js'
import type { RelativeDistinguishedNames } from 'pkijs'
import { IdentityError, type IdentityErrorCode, rethrowAs } from './errors.ts'

const attributeOids = {
  CN: '2.5.4.3',
  SN: '2.5.4.4',
  SERIALNUMBER: '2.5.4.5',
  C: '2.5.4.6',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  STREET: '2.5.4.9',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  POSTALCODE: '2.5.4.17',
  UID: '0.9.2342.19200300.100.1.1',
  DC: '0.9.2342.19200300.100.1.25',
  EMAIL: '1.2.840.113549.1.9.1',
} as const

/** A known attribute by its usual short name, any other by its dotted object identifier. */
export type AttributeType = keyof typeof attributeOids | `${number}.${number}.${string}`

export interface NameAttribute {
  readonly type: AttributeType
  /** The text; an attribute that is no text shows as `#` and the hex of its DER. */
  readonly value: string
}

/** In the order of the certificate. */
export type DistinguishedName = readonly NameAttribute[]

const attributeNames: ReadonlyMap<string, AttributeType> = new Map(
  Object.entries(attributeOids).map(([name, oid]) => [oid, name as keyof typeof attributeOids]),
)

const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/
/** Mailbox and domain attributes have a type of their own; everything else is printable or, failing that, UTF-8. */
const ia5Types: ReadonlySet<AttributeType> = new Set(['EMAIL', 'DC'])

/** The name Kubernetes reads a user (`commonName`) and its groups (`organizations`) from. */
export function userName(commonName: string, organizations: readonly string[] = []): DistinguishedName {
  const groups: NameAttribute[] = organizations.map((value) => ({ type: 'O', value }))
  return [...groups, { type: 'CN', value: commonName }]
}

export function attributeValues(name: DistinguishedName, type: AttributeType): string[] {
  return name.filter((attribute) => attribute.type === type).map(({ value }) => value)
}

/** The last common name, which is the one that Kubernetes takes for the user. */
export function commonName(name: DistinguishedName): string | undefined {
  return attributeValues(name, 'CN').at(-1)
}

/** For logs and messages, such as `O=system:nodes, CN=system:node:edge-1`. */
export function formatName(name: DistinguishedName): string {
  if (name.length === 0) return '(no name)'
  return name.map(({ type, value }) => `${type}=${value.replace(/[\\,]|\p{Cc}/gu, escapeCharacter)}`).join(', ')
}

function escapeCharacter(character: string): string {
  if (character === '\\' || character === ',') return `\\${character}`
  return `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}

/** Every attribute stands in a set of its own, so no order inside a set has to be decided. */
export function encodeName(name: DistinguishedName): Uint8Array<ArrayBuffer> {
  const sets = name.map(({ type, value }) => {
    const oid = (attributeOids as Readonly<Record<string, string>>)[type] ?? type
    const pair = new Sequence({ value: [new ObjectIdentifier({ value: oid }), encodeText(type, value)] })
    return new SetOf({ value: [pair] })
  })
  return new Uint8Array(new Sequence({ value: sets }).toBER())
}

function encodeText(type: AttributeType, value: string): AsnType {
  if (value === '') throw new IdentityError('invalid-template', `the ${type} of a name must not be empty`)
  if (ia5Types.has(type)) return new IA5String({ value })
  return PRINTABLE.test(value) ? new PrintableString({ value }) : new Utf8String({ value })
}

export function decodeName(
  name: RelativeDistinguishedNames,
  code: IdentityErrorCode,
  source: string,
): DistinguishedName {
  return name.typesAndValues.map(({ type, value }) => ({
    type: attributeNames.get(type) ?? (type as AttributeType),
    value: rethrowAs(code, `a name in ${source} is not valid text`, () => decodeText(value)),
  }))
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const strictUtf16 = new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true })

function decodeText(value: AsnType): string {
  if (value instanceof Utf8String) return strictUtf8.decode(value.valueBlock.valueHexView)
  if (value instanceof TeletexString) return Buffer.from(value.valueBlock.valueHexView).toString('latin1')
  if (value instanceof BmpString) return strictUtf16.decode(Buffer.from(value.valueBlock.valueHexView).swap16())
  const isAscii = [PrintableString, IA5String, NumericString, VisibleString].some((type) => value instanceof type)
  if (!isAscii) return `#${Buffer.from(value.toBER()).toString('hex')}`
  return asciiText((value as PrintableString).valueBlock.valueHexView)
}

/** Text of a type that allows only ASCII. */
export function asciiText(bytes: Uint8Array): string {
  if (bytes.some((byte) => byte >= 0x80)) throw new RangeError('a character is not ASCII')
  return Buffer.from(bytes).toString('latin1')
}
