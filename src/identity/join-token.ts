/**
 * Join tokens: `hex(sha256(CA DER)).JWT`. The first part lets an edge recognise the hub's CA, which it fetches from a stranger;
 * the JWT lets the hub recognise the edge. The signing key is a random one that serves for nothing else.
 */

import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { JWSSignatureVerificationFailed, JWTClaimValidationFailed, JWTExpired } from 'jose/errors'
import { decodeJwt } from 'jose/jwt/decode'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { ExplainedError } from '../runtime/explained-error.ts'
import type { Certificate } from './certificate.ts'

/** Well above any token of ours; what is longer was not made by us. */
export const MAX_JOIN_TOKEN_BYTES = 8 * 1024
/** The clocks of the machine that minted a token and of the hub that checks it may differ by this much. */
export const JOIN_TOKEN_CLOCK_TOLERANCE_MS = 60_000
/** HMAC-SHA256 gains nothing from more, and loses from less. */
export const JOIN_TOKEN_KEY_BYTES = 32

const algorithm = 'HS256'
const caHashPattern = /^[0-9a-f]{64}$/

export interface JoinClaims {
  /** The cluster whose hub may use the token. */
  readonly audience: string
  readonly id: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  /** A node name, or a pattern in which `*` stands for any characters. Absent: any name that nobody has. */
  readonly node?: string | undefined
  /** How many nodes may join with it. Absent: no limit. */
  readonly uses?: number | undefined
  /** SHA-256, in hex, of the Kubernetes CA bundle: see `caBundleSha256`. */
  readonly kubernetesCaSha256: string
  /** The name in the API server's certificate. */
  readonly apiServerName: string
}

export interface JoinTokenKey {
  readonly id: string
  readonly secret: Uint8Array
}

export interface JoinToken {
  /** In hex. */
  readonly caSha256: string
  readonly jwt: string
  /** What the token says, unverified: only the hub can verify it. */
  readonly claims: JoinClaims
}

export type JoinTokenProblem = 'malformed' | 'foreign' | 'expired' | 'not-yet-valid'

export class JoinTokenError extends ExplainedError {
  override readonly name = 'JoinTokenError'
  readonly problem: JoinTokenProblem

  constructor(problem: JoinTokenProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

const issuer = 'causeway'
const caClaim = 'kubernetesCaSha256'
const nameClaim = 'apiServerName'

/** The order of a bundle and repeated certificates in it mean nothing, so they do not count. */
export function caBundleSha256(certificates: readonly Pick<Certificate, 'der'>[]): string {
  const ders = [...new Set(certificates.map(({ der }) => der.toString('hex')))].toSorted()
  return createHash('sha256')
    .update(Buffer.from(ders.join(''), 'hex'))
    .digest('hex')
}

/** What the first part of a token says of the hub's CA. */
export function caSha256({ der }: Pick<Certificate, 'der'>): string {
  return createHash('sha256').update(der).digest('hex')
}

export async function mintJoinToken(claims: JoinClaims, key: JoinTokenKey, caSha256Hex: string): Promise<string> {
  const { audience, id, issuedAtMs, expiresAtMs, node, uses, kubernetesCaSha256, apiServerName } = claims
  const jwt = await new SignJWT({ node, uses, [caClaim]: kubernetesCaSha256, [nameClaim]: apiServerName })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: key.id })
    .setIssuer(issuer)
    .setAudience(audience)
    .setJti(id)
    .setIssuedAt(Math.floor(issuedAtMs / 1000))
    .setExpirationTime(Math.floor(expiresAtMs / 1000))
    .sign(key.secret)
  return `${caSha256Hex}.${jwt}`
}

/** The parts of a token as an edge holds it. */
export function readJoinToken(text: string): JoinToken {
  const token = text.trim()
  if (Buffer.byteLength(token) > MAX_JOIN_TOKEN_BYTES)
    throw new JoinTokenError(
      'malformed',
      `a join token has at most ${MAX_JOIN_TOKEN_BYTES} bytes; this is something else`,
    )
  const dot = token.indexOf('.')
  const hash = token.slice(0, Math.max(dot, 0))
  const jwt = token.slice(dot + 1)
  if (!caHashPattern.test(hash) || jwt.split('.').length !== 3)
    throw new JoinTokenError(
      'malformed',
      'this is not a join token: it must be a hash of 64 hex digits, a dot and a JWT',
    )
  try {
    return { caSha256: hash, jwt, claims: readClaims(decodeJwt(jwt)) }
  } catch (error) {
    if (error instanceof JoinTokenError) throw error
    throw new JoinTokenError('malformed', 'the join token is damaged; copy it again', { cause: error })
  }
}

export interface JoinTokenChecks {
  readonly audience: string
  readonly nowMs: number
  /** The key of that id, if it is one of ours. */
  readonly keyOf: (id: string) => Uint8Array | undefined
}

/** What a JWT says, once it is certain that one of our keys signed it and that its time has not run out. */
export async function verifyJoinJwt(jwt: string, { audience, nowMs, keyOf }: JoinTokenChecks): Promise<JoinClaims> {
  if (Buffer.byteLength(jwt) > MAX_JOIN_TOKEN_BYTES) throw new JoinTokenError('malformed', 'the token is too long')
  try {
    const { payload } = await jwtVerify(jwt, ({ kid }) => knownKey(keyOf, kid), {
      algorithms: [algorithm],
      issuer,
      audience,
      currentDate: new Date(nowMs),
      clockTolerance: JOIN_TOKEN_CLOCK_TOLERANCE_MS / 1000,
    })
    const claims = readClaims(payload)
    // The library leaves this to us: a token from the future was not minted by a clock we can believe.
    if (claims.issuedAtMs > nowMs + JOIN_TOKEN_CLOCK_TOLERANCE_MS)
      throw new JoinTokenError(
        'not-yet-valid',
        "the token is from the future; compare this machine's clock with the hub's",
      )
    return claims
  } catch (error) {
    throw asTokenError(error)
  }
}

function knownKey(keyOf: JoinTokenChecks['keyOf'], kid: string | undefined): Uint8Array {
  const secret = kid === undefined ? undefined : keyOf(kid)
  if (secret === undefined)
    throw new JoinTokenError('foreign', 'the token was not made for this cluster, or its signing key has been retired')
  return secret
}

function asTokenError(error: unknown): JoinTokenError {
  if (error instanceof JoinTokenError) return error
  const cause = { cause: error }
  if (error instanceof JWTExpired) return new JoinTokenError('expired', 'the token has expired', cause)
  if (error instanceof JWSSignatureVerificationFailed)
    return new JoinTokenError('foreign', 'the token was altered, or not made by this cluster', cause)
  if (error instanceof JWTClaimValidationFailed)
    return new JoinTokenError('foreign', `the token is not a join token of this cluster: ${error.message}`, cause)
  return new JoinTokenError('malformed', 'the token cannot be read as a join token', cause)
}

function readClaims(payload: JWTPayload): JoinClaims {
  const { aud, jti, iat, exp, node, uses } = payload
  const kubernetesCaSha256 = payload[caClaim]
  const apiServerName = payload[nameClaim]
  if (typeof aud !== 'string' || typeof jti !== 'string' || typeof iat !== 'number' || typeof exp !== 'number')
    throw new JoinTokenError('malformed', 'the token lacks an audience, an id or its times')
  if (typeof kubernetesCaSha256 !== 'string' || !caHashPattern.test(kubernetesCaSha256))
    throw new JoinTokenError('malformed', `the token lacks ${caClaim}`)
  if (typeof apiServerName !== 'string' || apiServerName === '')
    throw new JoinTokenError('malformed', `the token lacks ${nameClaim}`)
  if (node !== undefined && (typeof node !== 'string' || node === ''))
    throw new JoinTokenError('malformed', 'the node name in the token is no text')
  if (uses !== undefined && !(Number.isSafeInteger(uses) && (uses as number) > 0))
    throw new JoinTokenError('malformed', 'the number of uses in the token is no positive integer')
  return {
    audience: aud,
    id: jti,
    issuedAtMs: iat * 1000,
    expiresAtMs: exp * 1000,
    node,
    uses: uses as number | undefined,
    kubernetesCaSha256,
    apiServerName,
  }
}

/**
 * Whether a token for `pattern` may be used by `node` at all. `*` stands for any characters, also none. Covering a name is not
 * naming it: only a token with exactly that name may replace another key.
 */
export function tokenCovers(pattern: string | undefined, node: string): boolean {
  if (pattern === undefined) return true
  const [head = '', ...parts] = pattern.split('*')
  const tail = parts.pop()
  if (tail === undefined) return pattern === node
  if (!node.startsWith(head) || node.length < head.length + tail.length || !node.endsWith(tail)) return false
  const end = node.length - tail.length
  let from = head.length
  // The leftmost place for each part leaves the most room for those after it.
  for (const part of parts) {
    const found = node.indexOf(part, from)
    if (found < 0 || found + part.length > end) return false
    from = found + part.length
  }
  return true
}
