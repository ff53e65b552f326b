/** The only place where errors become HTTP. */
import { internalError } from './availability-errors.ts'
import { ApiError, type Status } from './status.ts'

/**
 * Every 503 and 429 carries Retry-After: without it some clients retry in a tight loop, and others fall silent for
 * minutes.
 */
const DEFAULT_RETRY_AFTER_SECONDS = 1

export interface HttpFailure {
  readonly code: number
  readonly headers: Readonly<Record<string, string>>
  /** To be encoded as the client negotiated. */
  readonly status: Status
}

/** What is not an ApiError tells the client nothing about itself; whoever calls this logs it. */
export function toHttp(error: unknown): HttpFailure {
  const { status } = error instanceof ApiError ? error : internalError('the request could not be completed')
  const retryAfterSeconds = retryAfter(status)
  return {
    code: status.code,
    headers: retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) },
    status,
  }
}

function retryAfter({ code, details }: Status): number | undefined {
  if (details?.retryAfterSeconds !== undefined) return details.retryAfterSeconds
  return code === 503 || code === 429 ? DEFAULT_RETRY_AFTER_SECONDS : undefined
}
