/**
 * The values of rows: a checksum over key and value as they are on disk, a flag, and then the content, sealed if it is secret.
 * The checksum finds damage without the key, so that damage and a wrong key are told apart.
 */
import { crc32 } from 'node:zlib'
import type { SecretBox } from './secret-box.ts'

const CHECKSUM_BYTES = 4
const CONTENT_AT = 5
const PLAIN = 0
const SEALED = 1

/** What is secret cannot be kept without a key, and is not. */
export class NoKeyError extends Error {
  override readonly name = 'NoKeyError'
}

/** Where a secret belongs: what is sealed for one place cannot be opened at another. */
export function placeOf(collection: string, key: string): string {
  return JSON.stringify([collection, key])
}

export interface Sealing {
  readonly box: SecretBox | undefined
  readonly place: string
}

/** `sealing` is there if the content is secret. */
export function encodeRow(rowKey: Buffer, content: readonly Uint8Array[], sealing?: Sealing): Buffer {
  const value =
    sealing === undefined
      ? Buffer.concat([Buffer.from([0, 0, 0, 0, PLAIN]), ...content])
      : Buffer.concat([Buffer.from([0, 0, 0, 0, SEALED]), sealed(Buffer.concat(content), sealing)])
  value.writeUInt32LE(checksum(rowKey, value), 0)
  return value
}

/** `placeOfSecret` is asked only for what is sealed. Views of `value`, if it is plain. */
export function decodeRow(
  rowKey: Buffer,
  value: Buffer,
  box: SecretBox | undefined,
  placeOfSecret: () => string,
): Buffer | 'damaged' | 'unreadable' {
  if (value.length < CONTENT_AT || value.readUInt32LE(0) !== checksum(rowKey, value)) return 'damaged'
  const content = value.subarray(CONTENT_AT)
  if (value[CHECKSUM_BYTES] === PLAIN) return content
  return box?.open(content, placeOfSecret()) ?? 'unreadable'
}

/** As a small integer, which a Map holds without memory of its own. */
export function checksumOf(value: Buffer): number {
  return value.readInt32LE(0)
}

/** Whether the content was secret. */
export function isSealed(value: Buffer): boolean {
  return value[CHECKSUM_BYTES] !== PLAIN
}

function sealed(content: Buffer, { box, place }: Sealing): Buffer {
  if (box === undefined) throw new NoKeyError('there is no key to encrypt secrets with')
  return box.seal(content, place)
}

function checksum(rowKey: Buffer, value: Buffer): number {
  return crc32(value.subarray(CHECKSUM_BYTES), crc32(rowKey))
}
