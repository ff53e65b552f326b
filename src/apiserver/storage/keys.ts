/** The order of keys, and the ranges that prefixes stand for: by UTF-8 bytes, as LMDB and etcd have it. */

import { MAX_KEY_BYTES } from './store.ts'
import { StoreUsageError } from './store-errors.ts'

/**
 * Compares as the UTF-8 bytes would. JavaScript compares UTF-16 units, which differs for what lies beyond U+FFFF: its
 * surrogates are smaller than U+E000, but its UTF-8 is greater.
 */
export function compareKeys(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let index = 0; index < shorter; index++) {
    const difference = utf8Weight(a.charCodeAt(index)) - utf8Weight(b.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

function utf8Weight(unit: number): number {
  const isSurrogate = unit >= 0xd800 && unit < 0xe000
  return isSurrogate ? unit + 0x1_0000 : unit
}

/** A range of keys by their bytes: from `start` on, up to and without `end`; no end means to the last key. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer | undefined
}

/** The keys that begin with `prefix` and come after `after`. May be empty, with a start beyond the end. */
export function prefixRange(prefix: string, after?: string): KeyRange {
  const start = Buffer.from(prefix)
  const end = prefixEnd(start)
  if (after === undefined) return { start, end }
  // No key holds a NUL, so the next possible key is this one with the byte 1 behind it; what begins with the key and a NUL
  // is left out with it, which is where LMDB keeps the key's past.
  const afterKey = Buffer.from(`${after}\u0001`)
  return { start: Buffer.compare(afterKey, start) > 0 ? afterKey : start, end }
}

export function isEmptyRange({ start, end }: KeyRange): boolean {
  return end !== undefined && Buffer.compare(start, end) >= 0
}

/** The first byte string behind all that begin with `prefix`. UTF-8 has no 0xff, so the last byte can always grow. */
function prefixEnd(prefix: Buffer): Buffer | undefined {
  if (prefix.length === 0) return undefined
  const end = Buffer.from(prefix)
  end[end.length - 1] = (end[end.length - 1] ?? 0) + 1
  return end
}

const LONE_SURROGATE = /\p{Surrogate}/u

/** Throws a StoreUsageError for a text that may not be a key: see `StoredEntry`. */
export function checkKey(key: string): void {
  if (key === '') throw new StoreUsageError('a key must not be empty')
  if (key.includes('\0')) throw new StoreUsageError(`the key ${JSON.stringify(key)} holds a NUL character`)
  if (LONE_SURROGATE.test(key)) throw new StoreUsageError(`the key ${JSON.stringify(key)} holds half a surrogate pair`)
  const bytes = Buffer.byteLength(key)
  if (bytes > MAX_KEY_BYTES) throw new StoreUsageError(`a key has ${bytes} bytes, the limit is ${MAX_KEY_BYTES}`)
}
