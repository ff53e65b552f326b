/** What can go wrong between the API server and its store; each has one meaning, in every implementation. */
import { ExplainedError } from '../../runtime/explained-error.ts'

/** The history does not reach back to this revision. */
export class CompactedError extends Error {
  override readonly name = 'CompactedError'
  readonly compactedRevision: number

  constructor(compactedRevision: number) {
    super(`the history before revision ${compactedRevision} has been compacted`)
    this.compactedRevision = compactedRevision
  }
}

/** No write has reached this revision yet. */
export class FutureRevisionError extends Error {
  override readonly name = 'FutureRevisionError'
  readonly currentRevision: number

  constructor(revision: number, currentRevision: number) {
    super(`revision ${revision} lies in the future, the store is at ${currentRevision}`)
    this.currentRevision = currentRevision
  }
}

/** The store is closed, unreachable or has no leader. Whether a write under way happened is not known. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}

/** There is no room: the write did not happen. */
export class StoreFullError extends Error {
  override readonly name: string = 'StoreFullError'
}

/** There is no room for this one write, ever: it is larger than the store takes. It did not happen. */
export class StoreTooLargeError extends StoreFullError {
  override readonly name = 'StoreTooLargeError'
}

/** The caller broke a rule of the interface: a mistake in the program. Nothing was written. */
export class StoreUsageError extends Error {
  override readonly name = 'StoreUsageError'
}

/** The data cannot be opened: in use by another process, of a newer version, or not accessible. */
export class StoreOpenError extends ExplainedError {
  override readonly name = 'StoreOpenError'
}
