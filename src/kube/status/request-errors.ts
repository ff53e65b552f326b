/** Errors about the request itself: its credentials, its form, its media types, the version it asks for. */
import { ApiError } from './status.ts'

export function badRequest(message: string, options?: ErrorOptions): ApiError {
  return new ApiError({ code: 400, reason: 'BadRequest', message }, options)
}

/** An API server answers every failed authentication with the one word `Unauthorized`. */
export function unauthorized(message = 'Unauthorized'): ApiError {
  return new ApiError({ code: 401, reason: 'Unauthorized', message: message === '' ? 'not authorized' : message })
}

export function notAcceptable(message: string): ApiError {
  return new ApiError({ code: 406, reason: 'NotAcceptable', message })
}

export function notAcceptableMediaType(accepted: readonly string[]): ApiError {
  return notAcceptable(`only the following media types are accepted: ${accepted.join(', ')}`)
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  })
}

export function requestEntityTooLarge(message: string): ApiError {
  return new ApiError({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${message}` })
}

/** The older sibling of `resourceExpired`, kept because servers still send it. */
export function gone(message: string): ApiError {
  return new ApiError({ code: 410, reason: 'Gone', message })
}

/**
 * The resourceVersion or the continue token is older than the history that is kept. For an expired token of a list
 * `continueToken` lets the client go on, at the price of an inconsistent list.
 */
export function resourceExpired(message: string, continueToken?: string): ApiError {
  return new ApiError({
    code: 410,
    reason: 'Expired',
    message,
    metadata: continueToken === undefined ? undefined : { continue: continueToken },
  })
}
