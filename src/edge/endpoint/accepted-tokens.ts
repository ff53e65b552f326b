/**
 * Tokens that the API server has accepted lately, by their hash: their requests may use the connections that only such
 * tokens use. Being here gives no right; the API server judges each request.
 */
import { hash as digest } from 'node:crypto'
import { BoundedMap } from '../../runtime/bounded-map.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { CallerKey } from './caller-limits.ts'

/** More than a node has pods; beyond, the token used least recently is judged anew. */
export const MAX_ACCEPTED_TOKENS = 4_096
/** A token that was good is tried on the good connections for this long after its last use. */
export const ACCEPTED_TOKEN_MS = 10 * 60_000

/**
 * One with a watch open is known for this long after its last use: API servers end watches within the hour. What lasts longer,
 * such as a terminal, says nothing about its token any more.
 */
export const MAX_HELD_TOKEN_MS = 60 * 60_000

/** What a token says about itself: enough for metrics, for nothing else. */
export type TokenClass = 'service-account' | 'token'

export interface AcceptedToken {
  readonly tokenClass: TokenClass
  /** Whom the limits count its requests for. */
  readonly key: CallerKey
}

interface Remembered extends AcceptedToken {
  usedMs: number
  /** Watches and streams of it that the API server has accepted and that are still open. */
  open: number
}

export class AcceptedTokens {
  readonly #clock: Clock
  /** By hash. */
  readonly #tokens = new BoundedMap<string, Remembered>(MAX_ACCEPTED_TOKENS, (hash, known) =>
    this.#forgetSpelling(hash, known),
  )
  /** The hash that stands for each caller: of the spellings of one token only the last is kept, or they would crowd out others. */
  readonly #spellings = new Map<string, string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#tokens.size
  }

  /** Undefined for a token that has not been accepted, or too long ago. */
  find(hash: string): AcceptedToken | undefined {
    const known = this.#tokens.get(hash)
    if (known === undefined) return undefined
    const lastsMs = known.open > 0 ? MAX_HELD_TOKEN_MS : ACCEPTED_TOKEN_MS
    return this.#clock.monotonicMs() - known.usedMs < lastsMs ? known : undefined
  }

  accept(hash: string, token: string): AcceptedToken {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#tokens.get(hash)
    // Most requests find it here and fresh; what costs is done a few times in its life.
    if (known !== undefined && nowMs - known.usedMs < ACCEPTED_TOKEN_MS / 2) return known
    return this.#remember(hash, known ?? fresh(hash, token), nowMs)
  }

  /**
   * A watch of it was accepted. Returns what is to be called at its end, which is a use of the token too. One that has been
   * refused meanwhile stays refused.
   */
  hold(hash: string): () => void {
    const known = this.#tokens.get(hash)
    if (known === undefined) return () => {}
    known.open += 1
    return () => {
      known.open -= 1
      this.#renew(hash)
    }
  }

  forget(hash: string): void {
    const known = this.#tokens.get(hash)
    this.#tokens.delete(hash)
    if (known !== undefined) this.#forgetSpelling(hash, known)
  }

  #forgetSpelling(hash: string, { key: { name } }: Remembered): void {
    if (this.#spellings.get(name) === hash) this.#spellings.delete(name)
  }

  #renew(hash: string): void {
    const known = this.#tokens.get(hash)
    if (known !== undefined) this.#remember(hash, known, this.#clock.monotonicMs())
  }

  #remember(hash: string, known: Remembered, nowMs: number): Remembered {
    const { name } = known.key
    known.usedMs = nowMs
    this.forget(this.#spellings.get(name) ?? hash)
    this.#spellings.set(name, hash)
    this.#tokens.set(hash, known)
    return known
  }
}

function fresh(hash: string, token: string): Remembered {
  return { tokenClass: classOf(token), key: keyOf(token, hash), usedMs: 0, open: 0 }
}

/**
 * The signature of a JWT can be spelled in many ways that API servers accept alike, and so can the last characters of its
 * other two parts: what it says is the caller. Only for tokens that were accepted, or anybody could come under this key.
 */
function keyOf(token: string, hash: string): CallerKey {
  const [head, claims, signature, ...others] = token.split('.')
  if (head === undefined || claims === undefined || signature === undefined || others.length > 0 || !isJsonObject(head))
    return { name: hash, standing: 'proven' }
  const said = [head, claims].map((part) => Buffer.from(part, 'base64url').toString('base64url'))
  return { name: `jwt ${digest('sha256', said.join('.'))}`, standing: 'proven' }
}

function isJsonObject(part: string): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null
  } catch {
    return false
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
