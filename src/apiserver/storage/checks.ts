/** The rules that a caller must keep, whichever store he calls; a breach is found before anything happens. */
import { checkKey } from './keys.ts'
import {
  type ListOptions,
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTION_OPERATIONS,
  type Transaction,
  type Write,
} from './store.ts'
import { StoreTooLargeError, StoreUsageError } from './store-errors.ts'

/** Throws before anything is written. */
export function checkTransaction({ conditions, writes }: Transaction): void {
  checkCount('conditions', conditions.length)
  checkCount('writes', writes.length)
  for (const condition of conditions) {
    checkKey(condition.key)
    checkRevision(condition.modRevision)
  }
  const written = new Set<string>()
  for (const write of writes) {
    checkKey(write.key)
    checkLease(write)
    if (written.has(write.key)) throw new StoreUsageError(`a transaction writes the key ${write.key} twice`)
    written.add(write.key)
  }
  const bytes = writes.reduce((sum, write) => sum + writeBytes(write), 0)
  if (bytes > MAX_TRANSACTION_BYTES) {
    throw new StoreTooLargeError(`a transaction has ${bytes} bytes, the limit is ${MAX_TRANSACTION_BYTES}`)
  }
}

/** What a write weighs, for limits; the key counts once. */
export function writeBytes(write: Write): number {
  return Buffer.byteLength(write.key) + (write.type === 'put' ? write.value.length : 0)
}

/** Throws a StoreUsageError for options that no store takes. */
export function checkListOptions({ revision, limit }: ListOptions): void {
  if (revision !== undefined) checkRevision(revision)
  if (limit === undefined || (Number.isSafeInteger(limit) && limit > 0)) return
  throw new StoreUsageError(`a list of at most ${limit} entries: it must be a whole number, at least 1`)
}

export function checkRevision(revision: number): void {
  if (!Number.isSafeInteger(revision) || revision < 0) throw new StoreUsageError(`${revision} is no revision`)
}

function checkCount(what: string, count: number): void {
  if (count > MAX_TRANSACTION_OPERATIONS) {
    throw new StoreUsageError(`a transaction has ${count} ${what}, the limit is ${MAX_TRANSACTION_OPERATIONS}`)
  }
}

function checkLease(write: Write): void {
  if (write.type !== 'put' || write.leaseSeconds === undefined) return
  if (Number.isSafeInteger(write.leaseSeconds) && write.leaseSeconds > 0) return
  throw new StoreUsageError(
    `a lease of ${write.leaseSeconds} s for ${write.key}: it must be a whole number of seconds, at least 1`,
  )
}
