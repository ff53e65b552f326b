/**
 * The one interface between the API server and whatever keeps its data: an ordered map of keys to bytes with a history,
 * in the manner of etcd. Every change gets the next integer of one revision counter; a watch replays changes from any
 * revision that is still in the history.
 *
 * What every implementation must keep true, and `test/contract/store/suite.ts` checks:
 * - A transaction happens as a whole or not at all, and all its changes have the same revision.
 * - When a write resolves it is on disk: no crash, not even of the machine, takes it back. (`memory` has no disk.)
 * - A read without a revision sees every write that resolved before it began.
 * - A watch delivers every change under its prefix exactly once, in the order of revisions, and all changes of one
 *   revision together. It never delivers a change that a later crash could take back.
 * - Buffers given out belong to the store and are never changed, by either side.
 * - A store begins empty at revision 1, so the first change has revision 2 (an etcd that others use may be further on).
 */

/**
 * Keys are ordered by their UTF-8 bytes. Any well-formed text without NUL, of 1 to `MAX_KEY_BYTES`, may be a key; the API
 * server uses `resource/namespace/name`.
 */
export interface StoredEntry {
  readonly key: string
  readonly value: Buffer
  /** The revision at which this key came to be, and the one at which it got this value. */
  readonly createRevision: number
  readonly modRevision: number
}

export interface ReadOptions {
  /** Reads the state as it was at this revision; absent means now. Throws CompactedError or FutureRevisionError. */
  readonly revision?: number
}

export interface ListOptions extends ReadOptions {
  /** Only keys after this one, in byte order. */
  readonly after?: string | undefined
  /** At most this many entries; at least 1. */
  readonly limit?: number
}

export interface EntryRead {
  readonly entry: StoredEntry | undefined
  /** The revision of the state that was read. */
  readonly revision: number
}

export interface EntryList {
  readonly entries: readonly StoredEntry[]
  readonly revision: number
  /** How many entries under the prefix come after the last one given; zero when the list is complete. */
  readonly remaining: number
}

/** True when the key has exactly this modRevision; zero means that the key does not exist. */
export interface Condition {
  readonly key: string
  readonly modRevision: number
}

export type Write =
  /**
   * With `leaseSeconds` the entry is deleted some time after that many seconds, by a change like any other, unless it has
   * been written again: each put decides anew whether its entry expires. The caller must not change `value` afterwards.
   */
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer; readonly leaseSeconds?: number }
  | { readonly type: 'delete'; readonly key: string }

export interface Transaction {
  /** All must hold, or nothing is written. */
  readonly conditions: readonly Condition[]
  /** At most one write a key. Deleting a key that does not exist changes nothing. */
  readonly writes: readonly Write[]
}

/** The widest key that every implementation takes; Kubernetes' own names stay below 700 bytes. */
export const MAX_KEY_BYTES = 1024
/** How many conditions, and how many writes, one transaction may have: what an etcd takes by default. */
export const MAX_TRANSACTION_OPERATIONS = 128
/** Keys and values of one transaction together: what an etcd takes by default, less room for its framing. */
export const MAX_TRANSACTION_BYTES = 1_500_000

export type TransactionResult =
  /** The revision of the changes, or of the state, if there was nothing to change. */
  | { readonly committed: true; readonly revision: number }
  /** `found` holds the present entry of each condition's key, so that a caller can try again without another read. */
  | { readonly committed: false; readonly revision: number; readonly found: readonly (StoredEntry | undefined)[] }

export interface Change {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  /** The entry after a put; for a delete, undefined. */
  readonly entry: StoredEntry | undefined
  /** The entry before, if there was one. */
  readonly previous: StoredEntry | undefined
}

/**
 * The changes of one or more whole revisions; everything under the prefix up to `revision` has been delivered with this
 * batch. An empty list is a sign of progress: it comes when a watch has caught up, and every few seconds while others
 * write and nothing under the prefix changes.
 */
export interface ChangeBatch {
  readonly changes: readonly Change[]
  readonly revision: number
}

export interface Store {
  /** The revision of the latest change; at least 1. */
  revision(): Promise<number>
  get(key: string, options?: ReadOptions): Promise<EntryRead>
  list(prefix: string, options?: ListOptions): Promise<EntryList>
  /** Throws StoreUsageError for a transaction outside the limits above, StoreTooLargeError for one that is too large. */
  commit(transaction: Transaction): Promise<TransactionResult>
  /**
   * Changes with a revision greater than `afterRevision`, which may lie in the future, for ever, until the signal aborts
   * (then it returns). Throws CompactedError when `afterRevision` is older than `compactedRevision()`, also in the middle,
   * if the reader is slower than the compaction; and StoreUnavailableError when the store is closed or lost.
   */
  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<ChangeBatch>
  /**
   * Forgets the changes up to and including this revision; the state at it, and all that came later, stays readable.
   * Doing it again, or for an older revision, changes nothing. Throws FutureRevisionError.
   */
  compact(revision: number): Promise<void>
  /** The oldest revision that can still be read, and after which a watch may begin. */
  compactedRevision(): Promise<number>
  /** Resolves when everything is released. Calls under way reject with StoreUnavailableError. */
  close(): Promise<void>
}
