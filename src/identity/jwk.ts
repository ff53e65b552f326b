/** Public keys as JSON Web Keys, named as Kubernetes names the keys of its ServiceAccount tokens. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { type EcCurve, keyFingerprint, keyKind } from './keys.ts'

export type JwtAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA'

/** The public half only: no private member can stand in it. */
export interface PublicJwk {
  readonly use: 'sig'
  readonly kty: 'RSA' | 'EC' | 'OKP'
  readonly kid: string
  readonly alg: JwtAlgorithm
  readonly crv?: string
  readonly n?: string
  readonly e?: string
  readonly x?: string
  readonly y?: string
}

export interface JwkSet {
  readonly keys: readonly PublicJwk[]
}

const ecAlgorithms: Readonly<Record<EcCurve, JwtAlgorithm>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' }

/** The algorithm this key signs tokens with. */
export function jwtAlgorithm(key: KeyObject): JwtAlgorithm {
  const kind = keyKind(key, 'the token signing key')
  if (kind.type === 'rsa') return 'RS256'
  return kind.type === 'ec' ? ecAlgorithms[kind.curve] : 'EdDSA'
}

/** The name of a key in tokens and key sets: base64url of the SHA-256 of its DER. */
export function jwtKeyId(key: KeyObject): string {
  return keyFingerprint(key, 'base64url')
}

export function publicJwk(key: KeyObject): PublicJwk {
  const { kty, crv, n, e, x, y } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  const members = Object.entries({ crv, n, e, x, y }).filter(([, value]) => value !== undefined)
  return {
    use: 'sig',
    kty: kty as PublicJwk['kty'],
    kid: jwtKeyId(key),
    alg: jwtAlgorithm(key),
    ...Object.fromEntries(members),
  }
}

/** In the given order, each key once. */
export function jwkSet(keys: readonly KeyObject[]): JwkSet {
  const byId = new Map(keys.map((key) => [jwtKeyId(key), publicJwk(key)]))
  return { keys: [...byId.values()] }
}
