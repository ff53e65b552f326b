/**
 * What can be kept: feeds, each a collection of objects with a head, and records, single values in named shelves. To the
 * keeping they are keys and bytes.
 */

/** JSON of some hundred bytes that belongs to exactly the objects kept with it: scope, resourceVersion, times. */
export interface KeptHead {
  readonly [field: string]: unknown
}

export interface KeptEntry {
  readonly key: string
  /** What the bytes are, `json` for instance. Nothing here looks at it. */
  readonly form: string
  /** Must not change once handed over. */
  readonly bytes: Uint8Array
}

/** One state of a feed. */
export interface FeedState {
  readonly head: KeptHead
  readonly entries: Iterable<KeptEntry>
  /** Encrypted on disk. Keys and head are not. */
  readonly secret: boolean
}

/** A feed as the run before left it. */
export interface LoadedFeed {
  readonly key: string
  readonly head: KeptHead
  readonly entries: readonly KeptEntry[]
  readonly secret: boolean
  /**
   * False: some entries are lost, or are not those that the head was written with. Those that are here are good. Told once: an
   * owner that goes on with such a feed says in its head that it is not complete.
   */
  readonly isComplete: boolean
}

/** A value of a shelf. */
export interface KeptRecord {
  readonly value: Uint8Array
  readonly secret: boolean
}

export interface Secrecy {
  readonly secret: boolean
}

export interface KeepingStatus {
  /** False: nothing reaches the disk now. `problem` says why. */
  readonly isOn: boolean
  readonly problem: string | undefined
  /** The size of the file. */
  readonly bytes: number
  readonly feeds: number
  readonly entries: number
  readonly records: number
  /** Rows that were damaged, or could not be decrypted, and were left behind since the start. */
  readonly quarantined: number
  /** When something last reached the disk, in milliseconds since the epoch. */
  readonly lastFlushMs: number | undefined
}

/**
 * Calls that change something return at once and never throw; what they say reaches the disk soon, in the order of the
 * calls for each feed. `load` has to be run through before anything is written.
 */
export interface Keeping {
  readonly status: KeepingStatus
  /** What the run before left: whole feeds, once. Afterwards `records` knows that run's records. */
  load(): AsyncIterable<LoadedFeed>
  /** The head and all entries, at once. */
  replaceFeed(key: string, head: KeptHead, entries: Iterable<KeptEntry>, secrecy: Secrecy): void
  /** The head and some entries, at once. Of a feed that was never replaced here the present state is asked for. */
  changeFeed(key: string, head: KeptHead, puts: Iterable<KeptEntry>, deletes: Iterable<string>, secrecy: Secrecy): void
  dropFeed(key: string): void
  putRecord(shelf: string, key: string, value: Uint8Array, secrecy: Secrecy): void
  deleteRecord(shelf: string, key: string): void
  records(shelf: string): ReadonlyMap<string, Uint8Array>
  /** Forgets everything, on disk as well, the key included. Rejects with a FileError if the disk stands in the way. */
  erase(): Promise<void>
  /** Resolves when everything said so far is on disk, or keeping is off. */
  flushed(): Promise<void>
  close(): Promise<void>
}
