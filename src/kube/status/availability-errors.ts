/** Errors about the server's state: it is slow, busy, unreachable, full or broken. Most of them are worth a retry. */
import { ApiError } from './status.ts'

/** The operation may still complete after the client was told so. */
export function timeout(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError({ code: 504, reason: 'Timeout', message: `Timeout: ${message}`, details: { retryAfterSeconds } })
}

/** What kube-apiserver tells a client that is ahead of it: a second is enough to catch up. */
const TOO_LARGE_RESOURCE_VERSION_RETRY_SECONDS = 1

/** The client has seen a newer state than this server: it should come back when the server has caught up. */
export function tooLargeResourceVersion(
  requested: string | number | bigint,
  current: string | number | bigint,
  retryAfterSeconds = TOO_LARGE_RESOURCE_VERSION_RETRY_SECONDS,
): ApiError {
  return new ApiError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${requested}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds,
    },
  })
}

export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError({ code: 429, reason: 'TooManyRequests', message, details: { retryAfterSeconds } })
}

/** `toHttp` adds a Retry-After where `retryAfterSeconds` is not given: a 503 without one makes some clients hammer. */
export function serviceUnavailable(message: string, retryAfterSeconds?: number): ApiError {
  return new ApiError({
    code: 503,
    reason: 'ServiceUnavailable',
    message,
    details: retryAfterSeconds === undefined ? undefined : { retryAfterSeconds },
  })
}

/** `message` reaches the client: it must not name files, addresses or secrets. The real error goes in as `cause`. */
export function internalError(message: string, options?: ErrorOptions): ApiError {
  return new ApiError(
    {
      code: 500,
      reason: 'InternalError',
      message: `Internal error occurred: ${message}`,
      details: { causes: [{ message }] },
    },
    options,
  )
}

/** The store has no room. There is no reason word for it, so clients judge by the code. */
export function insufficientStorage(message: string): ApiError {
  return new ApiError({ code: 507, message })
}
