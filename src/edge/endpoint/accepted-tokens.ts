/**
 * Tokens that the API server has accepted lately, by their hash: their requests may use the connections that only such
 * tokens use. Being here gives no right; the API server judges each request.
 */
import type { Clock } from '../../telemetry/clock.ts'

/** More than a node has pods; beyond, the token used least recently is judged anew. */
export const MAX_ACCEPTED_TOKENS = 4_096
/** A token that was good is tried on the good connections for this long after its last use. */
export const ACCEPTED_TOKEN_MS = 10 * 60_000

/** What a token says about itself: enough for metrics, for nothing else. */
export type TokenClass = 'service-account' | 'token'

interface Accepted {
  readonly tokenClass: TokenClass
  readonly untilMs: number
}

export class AcceptedTokens {
  readonly #clock: Clock
  /** Those used last stand last. */
  readonly #tokens = new Map<string, Accepted>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#tokens.size
  }

  /** Undefined for a token that has not been accepted, or too long ago. */
  classOf(hash: string): TokenClass | undefined {
    const known = this.#tokens.get(hash)
    return known !== undefined && this.#clock.monotonicMs() < known.untilMs ? known.tokenClass : undefined
  }

  accept(hash: string, token: string): void {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#tokens.get(hash)
    // Most requests find it here and fresh; what costs is done a few times in its life.
    if (known !== undefined && known.untilMs - nowMs > ACCEPTED_TOKEN_MS / 2) return
    this.#tokens.delete(hash)
    this.#tokens.set(hash, { tokenClass: known?.tokenClass ?? classOf(token), untilMs: nowMs + ACCEPTED_TOKEN_MS })
    if (this.#tokens.size <= MAX_ACCEPTED_TOKENS) return
    const [oldest] = this.#tokens.keys()
    if (oldest !== undefined) this.#tokens.delete(oldest)
  }

  forget(hash: string): void {
    this.#tokens.delete(hash)
  }
}

/** Whether it is the JWT of a ServiceAccount, by what it says itself. */
function classOf(token: string): TokenClass {
  const [, payload = ''] = token.split('.')
  try {
    const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { sub?: unknown }
    return typeof sub === 'string' && sub.startsWith('system:serviceaccount:') ? 'service-account' : 'token'
  } catch {
    return 'token'
  }
}

const codesBehindAuthentication: ReadonlySet<number> = new Set([403, 404, 405, 406, 409, 410, 415, 422])

/**
 * Whether this answer shows that the API server took the token for good. Some answers are given before it has looked:
 * those of an overloaded or ending server, of one that cannot read the request, and all to OPTIONS.
 */
export function showsAcceptance(method: string, status: number): boolean {
  return method !== 'OPTIONS' && (status < 400 || codesBehindAuthentication.has(status))
}
