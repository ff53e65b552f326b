/** What a certificate says its key may be used for: the key usage bits and the extended key usages. */
import { BitString, ObjectIdentifier, Sequence } from 'asn1js'
import { ExtKeyUsage } from 'pkijs'
import { readDer, readStructure } from './der.ts'
import { IdentityError } from './errors.ts'

/** In the order of their bits in the extension. */
export const KEY_USAGES = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const

export type KeyUsage = (typeof KEY_USAGES)[number]

const extendedUsageOids = {
  any: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  ipsecEndSystem: '1.3.6.1.5.5.7.3.5',
  ipsecTunnel: '1.3.6.1.5.5.7.3.6',
  ipsecUser: '1.3.6.1.5.5.7.3.7',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  microsoftServerGatedCrypto: '1.3.6.1.4.1.311.10.3.3',
  netscapeServerGatedCrypto: '2.16.840.1.113730.4.1',
} as const

/** A known usage by name, any other by its dotted object identifier. */
export type ExtendedKeyUsage = keyof typeof extendedUsageOids | `${number}.${number}.${string}`

const extendedUsageNames: ReadonlyMap<string, ExtendedKeyUsage> = new Map(
  Object.entries(extendedUsageOids).map(([name, oid]) => [oid, name as keyof typeof extendedUsageOids]),
)

export function encodeKeyUsages(usages: readonly KeyUsage[]): Uint8Array {
  const positions = usages.map((usage) => KEY_USAGES.indexOf(usage))
  const last = Math.max(...positions)
  const bytes = new Uint8Array(Math.floor(last / 8) + 1)
  for (const position of positions) {
    const index = Math.floor(position / 8)
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (position % 8))
  }
  return new Uint8Array(new BitString({ valueHex: bytes, unusedBits: 7 - (last % 8) }).toBER())
}

export function decodeKeyUsages(der: Uint8Array, source: string): KeyUsage[] {
  const value = readDer(der, `the key usage of ${source}`)
  if (!(value instanceof BitString))
    throw new IdentityError('malformed-extension', `the key usage of ${source} is not a bit string`)
  const bytes = value.valueBlock.valueHexView
  return KEY_USAGES.filter((_, position) => ((bytes[Math.floor(position / 8)] ?? 0) & (0x80 >> (position % 8))) !== 0)
}

export function encodeExtendedKeyUsages(usages: readonly ExtendedKeyUsage[]): Uint8Array {
  const oids = usages.map((usage) => (extendedUsageOids as Readonly<Record<string, string>>)[usage] ?? usage)
  return new Uint8Array(new Sequence({ value: oids.map((value) => new ObjectIdentifier({ value })) }).toBER())
}

export function decodeExtendedKeyUsages(der: Uint8Array, source: string): ExtendedKeyUsage[] {
  const where = `the extended key usage of ${source}`
  const { keyPurposes } = readStructure(ExtKeyUsage, der, 'malformed-extension', where)
  return keyPurposes.map((oid) => extendedUsageNames.get(oid) ?? (oid as ExtendedKeyUsage))
}
