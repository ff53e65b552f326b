/** What a failed list or watch means for the reflector. */

import { WireError } from '../../protobuf/wire-error.ts'
import { BodyDecodeError } from '../client/body-codec.ts'
import { TransportError } from '../client/transport-error.ts'
import { findApiError, isExpired, isTooLargeResourceVersion } from '../status/predicates.ts'
import { WatchFrameError } from '../watch/frames.ts'

export type FailureKind =
  /**
   * The version we asked from is of no use to the server: forgotten (410), or ahead of all it knows. The latter only
   * lists and snapshots say; a plain watch from the future just waits for it.
   */
  | 'gone'
  /** The server understood and will not do it; asking the same again is pointless. */
  | 'refused'
  /**
   * The answer came whole and makes no sense, or is larger than a limit: not the link but the collection is bad. It
   * heals when the object that does it is changed or gone.
   */
  | 'unreadable'
  /** Anything else: the link, an overloaded or restarting server. */
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
  if (isUnreadable(error)) return 'unreadable'
  const refused = code !== undefined && code >= 400 && code < 500 && !transientClientErrors.has(code)
  return refused ? 'refused' : 'transient'
}

function isUnreadable(error: unknown): boolean {
  if (error instanceof WireError || error instanceof BodyDecodeError) return true
  return (error instanceof WatchFrameError || error instanceof TransportError) && error.code === 'too-large'
}
