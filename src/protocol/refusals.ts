/**
 * Why a hub says no to an edge: a code for programs and the HTTP status that carries it. Hubs refuse by these codes, edges
 * decide by them what to do and what to tell their operator, and docs/errors.md explains each. An edge may meet a later hub, so it
 * must be ready for codes that are not in this list.
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
  'headers-too-large': 431,
  internal: 500,
  /** The cluster did not sign, and says so. */
  'not-issued': 502,
  'cluster-unavailable': 503,
  /** The cluster does not let the hub do what the node asks for; a person has to give it the right. */
  'hub-lacks-rights': 503,
  overloaded: 503,
} as const

export type HubRefusalCode = keyof typeof statusOf

export const HUB_REFUSALS: Readonly<Record<HubRefusalCode, number>> = statusOf
