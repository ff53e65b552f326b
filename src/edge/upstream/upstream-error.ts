/** What stood between a request and its answer, told as one of the kinds a client can be answered with. */
import { OpenError } from '../../tunnel/open-error.ts'
import { UpstreamError, type UpstreamErrorKind } from './upstream.ts'

/** Whoever answers is not the API server, or not yet: that stays until a person has acted, so nobody asks every second. */
export const IMPOSTOR_RETRY_SECONDS = 10

/** Somebody answers who cannot be believed to be the API server. */
export class ImpostorError extends UpstreamError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('unreachable', message, { ...options, retryAfterSeconds: IMPOSTOR_RETRY_SECONDS })
  }
}

const kindOfRefusal: Readonly<Record<OpenError['code'], UpstreamErrorKind>> = {
  'no-route': 'offline',
  timeout: 'timeout',
  overloaded: 'overloaded',
  refused: 'unreachable',
  dns: 'unreachable',
  denied: 'unreachable',
  invalid: 'unreachable',
}

/** A connection that did not come about. */
export function connectFailure(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause
  const refusal = refusalIn(cause)
  if (refusal === undefined) return new UpstreamError('unreachable', messageOf(cause), { cause })
  const kind = kindOfRefusal[refusal.code]
  const message = kind === 'offline' ? refusal.message : `through the tunnel: ${refusal.message}`
  return new UpstreamError(kind, message, { cause })
}

/** What a request has met whose connection ended. */
export const brokeOff = 'the connection to the API server broke before the answer was complete'

/** A connection that ended under a request: unlike those of the other kinds, its message is told to clients as it stands. */
export function brokenBy(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause
  if (cause === undefined)
    return new UpstreamError('broken', 'the connection to the API server was closed before the answer was complete')
  return new UpstreamError('broken', `${brokeOff}: ${messageOf(cause)}`, { cause })
}

/** TLS puts what happened below it into errors of its own. */
function refusalIn(error: unknown): OpenError | undefined {
  for (let next = error; next instanceof Error; next = next.cause) if (next instanceof OpenError) return next
  return undefined
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
