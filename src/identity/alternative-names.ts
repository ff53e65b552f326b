/** Subject alternative names: the hosts, addresses and resources a certificate speaks for, as typed lists. */
import { type AsnType, Primitive, Sequence } from 'asn1js'
import { ipAddressBytes, ipAddressText } from '../network/ip-address.ts'
import { ownBytes, readDer } from './der.ts'
import { asciiText } from './distinguished-name.ts'
import { IdentityError } from './errors.ts'

export interface AlternativeNames {
  readonly dnsNames: readonly string[]
  /** In canonical text. */
  readonly ipAddresses: readonly string[]
  readonly uris: readonly string[]
  readonly emailAddresses: readonly string[]
  /** Kinds of names this program has no use for, such as `directoryName`: counted so that nobody overlooks them. */
  readonly otherKinds: readonly string[]
}

export type RequestedNames = Partial<Omit<AlternativeNames, 'otherKinds'>>

export const NO_NAMES: AlternativeNames = {
  dnsNames: [],
  ipAddresses: [],
  uris: [],
  emailAddresses: [],
  otherKinds: [],
}

const CONTEXT_CLASS = 3
const EMAIL_TAG = 1
const DNS_TAG = 2
const URI_TAG = 6
const IP_TAG = 7
const tagNames = [
  'otherName',
  'email',
  'dns',
  'x400Address',
  'directoryName',
  'ediPartyName',
  'uri',
  'ip',
  'registeredId',
]

const VISIBLE_ASCII = /^[\x21-\x7e]+$/
const DNS_NAME =
  /^(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/
/** DNS itself allows no longer name: 253 characters and the dot at the end. */
const MAX_DNS_NAME_CHARACTERS = 254

/** `undefined` where no name was asked for: the extension must not be present empty. */
export function encodeAlternativeNames(names: RequestedNames): Uint8Array | undefined {
  const values = [
    ...(names.dnsNames ?? []).map((name) => taggedText(DNS_TAG, checkedDnsName(name))),
    ...(names.emailAddresses ?? []).map((name) => taggedText(EMAIL_TAG, name)),
    ...(names.ipAddresses ?? []).map((address) => tagged(IP_TAG, checkedIpAddress(address))),
    ...(names.uris ?? []).map((name) => taggedText(URI_TAG, name)),
  ]
  return values.length === 0 ? undefined : new Uint8Array(new Sequence({ value: values }).toBER())
}

function checkedDnsName(name: string): string {
  if (name.length <= MAX_DNS_NAME_CHARACTERS && DNS_NAME.test(name)) return name
  throw new IdentityError('invalid-template', `${JSON.stringify(name)} is not a DNS name`)
}

function checkedIpAddress(address: string): Uint8Array {
  const bytes = ipAddressBytes(address)
  if (bytes !== undefined) return bytes
  throw new IdentityError('invalid-template', `${JSON.stringify(address)} is not an IP address`)
}

function taggedText(tagNumber: number, text: string): Primitive {
  if (!VISIBLE_ASCII.test(text))
    throw new IdentityError(
      'invalid-template',
      `${JSON.stringify(text)} cannot stand in a certificate: not plain ASCII`,
    )
  return tagged(tagNumber, Buffer.from(text, 'latin1'))
}

function tagged(tagNumber: number, bytes: Uint8Array): Primitive {
  return new Primitive({ idBlock: { tagClass: CONTEXT_CLASS, tagNumber }, valueHex: ownBytes(bytes) })
}

export function decodeAlternativeNames(der: Uint8Array, source: string): AlternativeNames {
  const where = `the subject alternative names of ${source}`
  const sequence = readDer(der, where)
  if (!(sequence instanceof Sequence)) throw malformed(where, 'they are no list')
  const names = { dnsNames: [], ipAddresses: [], uris: [], emailAddresses: [], otherKinds: [] } as {
    [Kind in keyof AlternativeNames]: string[]
  }
  for (const value of sequence.valueBlock.value) {
    const { tagClass, tagNumber } = value.idBlock
    const kind = tagNames[tagNumber]
    if (tagClass !== CONTEXT_CLASS || kind === undefined) throw malformed(where, 'one is of no known kind')
    if (tagNumber === DNS_TAG) names.dnsNames.push(textOf(value, where))
    else if (tagNumber === URI_TAG) names.uris.push(textOf(value, where))
    else if (tagNumber === EMAIL_TAG) names.emailAddresses.push(textOf(value, where))
    else if (tagNumber === IP_TAG) names.ipAddresses.push(addressOf(value, where))
    else names.otherKinds.push(kind)
  }
  return names
}

/** A name with a NUL or a line break in it has only one purpose: to be read differently by two programs. */
function textOf(value: AsnType, where: string): string {
  const bytes = bytesOf(value, where)
  if (bytes.some((byte) => byte <= 0x20 || byte >= 0x7f)) throw malformed(where, 'one is not plain ASCII')
  return asciiText(bytes)
}

function addressOf(value: AsnType, where: string): string {
  const text = ipAddressText(bytesOf(value, where))
  if (text === undefined) throw malformed(where, 'an IP address has neither 4 nor 16 bytes')
  return text
}

function bytesOf(value: AsnType, where: string): Uint8Array {
  if (value instanceof Primitive) return value.valueBlock.valueHexView
  throw malformed(where, 'one is a structure where text belongs')
}

function malformed(where: string, problem: string): IdentityError {
  return new IdentityError('malformed-extension', `${where} cannot be read: ${problem}`)
}
