/**
 * What the tables of the database hold, byte for byte. All integers are big-endian, so that the order of the bytes is the
 * order of the numbers.
 *
 * - `present`: key -> record. A record is createRevision, modRevision, expiresAtMs (zero: never) and the value.
 * - `undo`: key, NUL, revision -> the record that the change at that revision replaced, or ABSENT if it created the key.
 *   The state of a key at revision R is therefore the first undo record behind R, or the present where there is none.
 * - `log`: revision -> the keys that changed at it, each with the type of the change.
 * - `leases`: expiresAtMs, key -> nothing of interest; the record says whether it still holds.
 * - `meta`: see META_KEYS.
 */
import type { Change, StoredEntry } from '../store.ts'
import type { KeptEntry } from '../transaction.ts'

/** Revisions and milliseconds fit 48 bits for longer than anybody will look. */
const WIRE_INTEGER_BYTES = 6
const HEADER_BYTES = 3 * WIRE_INTEGER_BYTES
export const MAX_INTEGER = 2 ** (8 * WIRE_INTEGER_BYTES) - 1

/** Raised whenever the layout above changes; see `checkFormat`. */
export const FORMAT_VERSION = 1
export const META_KEYS = {
  format: Buffer.from('format'),
  revision: Buffer.from('revision'),
  compacted: Buffer.from('compacted'),
} as const

/** Shorter than any record. */
export const ABSENT = Buffer.from([0])

export function encodeInteger(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(WIRE_INTEGER_BYTES)
  bytes.writeUIntBE(value, 0, WIRE_INTEGER_BYTES)
  return bytes
}

export function decodeInteger(bytes: Buffer, offset = 0): number {
  return bytes.readUIntBE(offset, WIRE_INTEGER_BYTES)
}

export interface KeptRecord extends KeptEntry {
  /** The whole record; the value of the entry is a part of it. */
  readonly record: Buffer
}

export function encodeRecord(entry: StoredEntry, expiresAtMs: number): KeptRecord {
  const record = Buffer.allocUnsafe(HEADER_BYTES + entry.value.length)
  record.writeUIntBE(entry.createRevision, 0, WIRE_INTEGER_BYTES)
  record.writeUIntBE(entry.modRevision, WIRE_INTEGER_BYTES, WIRE_INTEGER_BYTES)
  record.writeUIntBE(expiresAtMs, 2 * WIRE_INTEGER_BYTES, WIRE_INTEGER_BYTES)
  record.set(entry.value, HEADER_BYTES)
  return { record, entry: { ...entry, value: record.subarray(HEADER_BYTES) }, expiresAtMs }
}

/** The entry in a record of its own memory: the value is not copied again. */
export function decodeEntry(key: string, record: Buffer): StoredEntry {
  return {
    key,
    value: record.subarray(HEADER_BYTES),
    createRevision: decodeInteger(record),
    modRevision: decodeInteger(record, WIRE_INTEGER_BYTES),
  }
}

export function decodeRecord(key: string, record: Buffer): KeptRecord {
  return { record, entry: decodeEntry(key, record), expiresAtMs: decodeInteger(record, 2 * WIRE_INTEGER_BYTES) }
}

export function isAbsent(record: Buffer): boolean {
  return record.length < HEADER_BYTES
}

export function undoKey(key: string, revision: number): Buffer {
  const keyBytes = Buffer.byteLength(key)
  const bytes = Buffer.allocUnsafe(keyBytes + 1 + WIRE_INTEGER_BYTES)
  bytes.write(key)
  bytes[keyBytes] = 0
  bytes.writeUIntBE(revision, keyBytes + 1, WIRE_INTEGER_BYTES)
  return bytes
}

export function decodeUndoKey(bytes: Buffer): { key: string; revision: number } {
  const end = bytes.length - WIRE_INTEGER_BYTES
  return { key: bytes.toString('utf8', 0, end - 1), revision: decodeInteger(bytes, end) }
}

export function leaseKey(expiresAtMs: number, key: string): Buffer {
  return Buffer.concat([encodeInteger(expiresAtMs), Buffer.from(key)])
}

export function decodeLeaseKey(bytes: Buffer): { expiresAtMs: number; key: string } {
  return { expiresAtMs: decodeInteger(bytes), key: bytes.toString('utf8', WIRE_INTEGER_BYTES) }
}

export type LoggedChange = Pick<Change, 'type' | 'key'>

const PUT = 1
const DELETE = 2
const LENGTH_BYTES = 2

export function encodeLog(changes: readonly LoggedChange[]): Buffer {
  return Buffer.concat(
    changes.map(({ type, key }) => {
      const keyBytes = Buffer.byteLength(key)
      const bytes = Buffer.allocUnsafe(1 + LENGTH_BYTES + keyBytes)
      bytes[0] = type === 'put' ? PUT : DELETE
      bytes.writeUInt16BE(keyBytes, 1)
      bytes.write(key, 1 + LENGTH_BYTES)
      return bytes
    }),
  )
}

export function decodeLog(bytes: Buffer): LoggedChange[] {
  const changes: LoggedChange[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const start = offset + 1 + LENGTH_BYTES
    const end = start + bytes.readUInt16BE(offset + 1)
    changes.push({ type: bytes[offset] === PUT ? 'put' : 'delete', key: bytes.toString('utf8', start, end) })
    offset = end
  }
  return changes
}
