/**
 * Why the hub says no: a code for programs, a sentence for people, and the HTTP status that carries both. The codes are part
 * of the protocol and are listed in docs/errors.md; an edge decides by the code what to tell its operator.
 */

const statusOf = {
  'bad-request': 400,
  'bad-proof': 400,
  'key-unsuitable': 400,
  'name-invalid': 400,
  'token-missing': 401,
  'token-invalid': 401,
  'token-expired': 401,
  'token-revoked': 401,
  'token-used-up': 403,
  'token-for-other-node': 403,
  'certificate-missing': 401,
  'certificate-invalid': 401,
  'certificate-expired': 401,
  'certificate-revoked': 403,
  'node-mismatch': 403,
  'name-taken': 409,
  'node-exists': 409,
  'not-found': 404,
  'method-not-allowed': 405,
  'too-slow': 408,
  'body-too-large': 413,
  'media-type': 415,
  /** The client named no cluster of this hub: 421, misdirected. */
  'unknown-cluster': 421,
  /** The signing request does not say exactly what the hub wants signed; the answer says what that is. */
  'content-mismatch': 422,
  'too-many-failures': 429,
  /** One node asks for more than a node needs. */
  'too-many-requests': 429,
  internal: 500,
  /** The cluster did not sign, and says so. */
  'not-issued': 502,
  'cluster-unavailable': 503,
  /** The cluster does not let the hub do what the node asks for; a person has to give it the right. */
  'hub-lacks-rights': 503,
  overloaded: 503,
} as const

export type RefusalCode = keyof typeof statusOf

/** With the HTTP status of each. */
export const REFUSALS: readonly (readonly [RefusalCode, number])[] = Object.entries(statusOf) as [RefusalCode, number][]

export interface RefusalOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number
  /** Further members of the JSON answer. */
  readonly details?: Readonly<Record<string, unknown>>
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, options)
    this.code = code
    this.status = statusOf[code]
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details = options.details ?? {}
  }
}
