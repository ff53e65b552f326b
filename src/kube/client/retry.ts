/** When a request may be repeated: only when the server said that it did not act on it, and when to come back. */
import { ApiError } from '../status/status.ts'

/** Times that a request is sent again when the server asked for patience. */
export const DEFAULT_MAX_RETRIES = 5
/** A server that wants us to wait longer than this gets its error reported instead. */
export const MAX_RETRY_DELAY_MS = 30_000

/** `undefined` when the error is final. */
export function retryDelayMs(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || (error.code !== 429 && error.code !== 503)) return undefined
  if (error.retryAfterSeconds === undefined) return undefined
  const delayMs = error.retryAfterSeconds * 1000
  return delayMs > MAX_RETRY_DELAY_MS ? undefined : delayMs
}
