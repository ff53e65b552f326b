/** What a failed attempt, or the end of a session, means for the next attempt. */
import { DialError } from '../../tunnel/carriers/dial-error.ts'
import { SessionError } from '../../tunnel/yamux/errors.ts'
import { HubError } from '../hub/hub-error.ts'
import type { LinkFailure } from './link-core.ts'

/**
 * Only what a hub itself says can be final: somebody on the way who opens TLS, or answers in the hub's place, may be gone a
 * minute later.
 */
export function linkFailureOf(error: unknown): LinkFailure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof HubError) {
    const isFinal = error.kind === 'refusal' && !error.retryable
    return { code: error.code, message, isFinal, retryAfterMs: error.retryAfterMs }
  }
  if (error instanceof DialError) return dialFailure(error)
  const code = error instanceof SessionError ? error.code : 'failed'
  return { code, message, isFinal: false, retryAfterMs: undefined }
}

function dialFailure({ code, message, refusal }: DialError): LinkFailure {
  if (refusal === undefined) return { code, message, isFinal: false, retryAfterMs: undefined }
  const { status, retryAfterSeconds } = refusal
  const isHubs = code !== 'intercepted' && refusal.isUnproven !== true
  const isFinal = isHubs && status >= 400 && status < 500 && status !== 408 && status !== 429
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000
  return { code: refusal.code, message, isFinal, retryAfterMs }
}
