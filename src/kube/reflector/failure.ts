/** What a failed list or watch means for the reflector. */
import { findApiError, isExpired, isTooLargeResourceVersion } from '../status/index.ts'

export type FailureKind =
  /**
   * The version we asked from is of no use to the server: forgotten (410), or ahead of all it knows. The latter only
   * lists and snapshots say; a plain watch from the future just waits for it.
   */
  | 'gone'
  /** The server understood and will not do it; asking the same again is pointless. */
  | 'refused'
  /** Anything else: the link, an overloaded or restarting server, bytes that made no sense. */
  | 'transient'

export interface Failure {
  readonly kind: FailureKind
  readonly error: unknown
  readonly retryAfterMs: number
}

/** 401 heals when a token rotates, 408 and 429 by waiting. */
const transientClientErrors: ReadonlySet<number> = new Set([401, 408, 429])

export function classify(error: unknown): Failure {
  const apiError = findApiError(error)
  return { kind: kindOf(error, apiError?.code), error, retryAfterMs: (apiError?.retryAfterSeconds ?? 0) * 1000 }
}

function kindOf(error: unknown, code: number | undefined): FailureKind {
  if (isExpired(error) || isTooLargeResourceVersion(error)) return 'gone'
  const refused = code !== undefined && code >= 400 && code < 500 && !transientClientErrors.has(code)
  return refused ? 'refused' : 'transient'
}
