/** What a ServiceAccount token says: written by the issuer, read back once the signature has been checked. */
import { RefusedTokenError } from './refused-token.ts'

/** Of an object that may have gone since; the uid is empty only for a node that was not known when the token was made. */
export interface ClaimedObject {
  readonly name: string
  readonly uid: string
}

export interface BoundObjects {
  readonly pod?: ClaimedObject | undefined
  readonly secret?: ClaimedObject | undefined
  /** Beside a pod it says where the pod runs; alone it is what the token is bound to. */
  readonly node?: ClaimedObject | undefined
}

export interface KubernetesClaims extends BoundObjects {
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
}

/** Times are in seconds since 1970. What a token leaves out is not checked, as API servers have it. */
export interface TokenClaims {
  readonly expiresAtSeconds: number | undefined
  readonly notBeforeSeconds: number | undefined
  readonly issuedAtSeconds: number | undefined
  readonly id: string
  readonly kubernetes: KubernetesClaims
}

export type JsonObject = Readonly<Record<string, unknown>>

/** Throws a RefusedTokenError where a claim is not of its type; what a token leaves out is empty or undefined. */
export function readClaims(payload: JsonObject): TokenClaims {
  return {
    expiresAtSeconds: readSeconds(payload, 'exp'),
    notBeforeSeconds: readSeconds(payload, 'nbf'),
    issuedAtSeconds: readSeconds(payload, 'iat'),
    id: readText(payload, 'jti'),
    kubernetes: readKubernetes(readObject(payload, 'kubernetes.io') ?? {}),
  }
}

function readKubernetes(claims: JsonObject): KubernetesClaims {
  return {
    namespace: readText(claims, 'namespace'),
    serviceAccount: readReference(claims, 'serviceaccount') ?? { name: '', uid: '' },
    pod: readReference(claims, 'pod'),
    secret: readReference(claims, 'secret'),
    node: readReference(claims, 'node'),
  }
}

function readReference(claims: JsonObject, claim: string): ClaimedObject | undefined {
  const reference = readObject(claims, claim)
  return reference === undefined ? undefined : { name: readText(reference, 'name'), uid: readText(reference, 'uid') }
}

/** One audience may stand without its list. Tokens from before audiences have none. */
export function readAudiences(payload: JsonObject): string[] {
  const value = payload['aud']
  const list: readonly unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  return list.map((audience) => {
    if (typeof audience !== 'string') throw malformed('aud', 'a list of strings')
    return audience
  })
}

/** The text of a claim, empty where the token has none. Throws a RefusedTokenError where it is no text. */
export function readText(claims: JsonObject, claim: string): string {
  const value = claims[claim] ?? ''
  if (typeof value !== 'string') throw malformed(claim, 'a string')
  return value
}

function readSeconds(claims: JsonObject, claim: string): number | undefined {
  const value = claims[claim] ?? undefined
  if (value === undefined || typeof value === 'number') return value
  throw malformed(claim, 'a number')
}

function readObject(claims: JsonObject, claim: string): JsonObject | undefined {
  const value = claims[claim] ?? undefined
  if (value === undefined || isJsonObject(value)) return value
  throw malformed(claim, 'an object')
}

/** Only whoever has the key can make such a token. */
function malformed(claim: string, expected: string): RefusedTokenError {
  return new RefusedTokenError(`service account token claims could not be read: ${claim} is not ${expected}`)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
