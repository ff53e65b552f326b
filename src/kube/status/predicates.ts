/**
 * Questions about an error that came from an API server, however deep it is wrapped. A reason decides where there is a
 * known one; otherwise the HTTP code does, because extension servers and proxies invent reasons.
 */
import { ApiError, type CauseType, type KnownStatusReason, type StatusCause } from './status.ts'

const knownReasons: ReadonlySet<string> = new Set<KnownStatusReason>([
  'AlreadyExists',
  'BadRequest',
  'Conflict',
  'Expired',
  'Forbidden',
  'Gone',
  'InternalError',
  'Invalid',
  'MethodNotAllowed',
  'NotAcceptable',
  'NotFound',
  'RequestEntityTooLarge',
  'ServerTimeout',
  'ServiceUnavailable',
  'StorageReadError',
  'Timeout',
  'TooManyRequests',
  'Unauthorized',
  'UnsupportedMediaType',
])

/** An error that wraps itself must not hang the search. */
const MAX_CAUSE_DEPTH = 32

/** The ApiError in `error` or in what caused it. */
export function findApiError(error: unknown): ApiError | undefined {
  let current = error
  for (let depth = 0; depth < MAX_CAUSE_DEPTH; depth++) {
    if (current instanceof ApiError) return current
    if (!(current instanceof Error)) return undefined
    current = current.cause
  }
  return undefined
}

export function findStatusCause(error: unknown, type: CauseType): StatusCause | undefined {
  return findApiError(error)?.status.details?.causes?.find((cause) => cause.reason === type)
}

function is(error: unknown, reason: KnownStatusReason, code?: number): boolean {
  const found = findApiError(error)
  if (found === undefined) return false
  if (found.reason === reason) return true
  return found.code === code && !knownReasons.has(found.reason ?? '')
}

export const isNotFound = (error: unknown): boolean => is(error, 'NotFound', 404)
export const isAlreadyExists = (error: unknown): boolean => is(error, 'AlreadyExists')
export const isConflict = (error: unknown): boolean => is(error, 'Conflict', 409)
export const isInvalid = (error: unknown): boolean => is(error, 'Invalid', 422)
export const isNotAcceptable = (error: unknown): boolean => is(error, 'NotAcceptable', 406)
export const isUnsupportedMediaType = (error: unknown): boolean => is(error, 'UnsupportedMediaType', 415)
export const isMethodNotSupported = (error: unknown): boolean => is(error, 'MethodNotAllowed', 405)
export const isServiceUnavailable = (error: unknown): boolean => is(error, 'ServiceUnavailable', 503)
export const isBadRequest = (error: unknown): boolean => is(error, 'BadRequest', 400)
export const isUnauthorized = (error: unknown): boolean => is(error, 'Unauthorized', 401)
export const isForbidden = (error: unknown): boolean => is(error, 'Forbidden', 403)
export const isTimeout = (error: unknown): boolean => is(error, 'Timeout', 504)
export const isServerTimeout = (error: unknown): boolean => is(error, 'ServerTimeout')
export const isInternalError = (error: unknown): boolean => is(error, 'InternalError', 500)
export const isInsufficientStorage = (error: unknown): boolean => findApiError(error)?.code === 507

export const isTooManyRequests = (error: unknown): boolean =>
  is(error, 'TooManyRequests') || findApiError(error)?.code === 429

export const isRequestEntityTooLarge = (error: unknown): boolean =>
  is(error, 'RequestEntityTooLarge') || findApiError(error)?.code === 413

/** The asked-for history is gone, in either of the two words for it: a watch must start again from a list. */
export const isExpired = (error: unknown): boolean => is(error, 'Expired') || is(error, 'Gone', 410)

/** The server is behind the version asked for. Old servers say so in the message only. */
export function isTooLargeResourceVersion(error: unknown): boolean {
  if (!isTimeout(error)) return false
  if (findStatusCause(error, 'ResourceVersionTooLarge') !== undefined) return true
  return findApiError(error)?.message.includes('Too large resource version') === true
}

/** The answer was not in the form of an API server's: something in between may have spoken. */
export const isUnexpectedServerResponse = (error: unknown): boolean =>
  findStatusCause(error, 'UnexpectedServerResponse') !== undefined

/** Seconds the client was asked to wait before a retry; a ServerTimeout asks for a retry even after 0. */
export function suggestedDelaySeconds(error: unknown): number | undefined {
  const found = findApiError(error)
  if (found === undefined) return undefined
  return found.retryAfterSeconds ?? (found.reason === 'ServerTimeout' ? 0 : undefined)
}
