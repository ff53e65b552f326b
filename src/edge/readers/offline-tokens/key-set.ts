/** The public keys that an API server signs ServiceAccount tokens with, as it publishes them. Pure. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import * as v from 'valibot'
import type { VerificationKey } from '../../../identity/service-account/signed-token.ts'

/** An API server has one key, or two while it changes them; beyond, a token without the name of its key would cost too much. */
const MAX_SIGNING_KEYS = 16
/** Of a modulus: what is longer is not used by anybody and costs much to check. */
const MAX_RSA_BITS = 8_192
/** Below this anybody could sign. */
const MIN_RSA_BITS = 2_048

const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const ecAlgorithms: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }

const keySetSchema = v.object({ keys: v.array(v.looseObject({ kid: v.optional(v.string(), '') })) })
const discoverySchema = v.object({ issuer: v.pipe(v.string(), v.minLength(1)) })

/** Throws for what is no key set; keys of kinds that no API server signs with are left out. */
export function readKeySet(value: unknown): VerificationKey[] {
  const { keys } = v.parse(keySetSchema, value)
  if (keys.length > MAX_SIGNING_KEYS) throw new Error(`${keys.length} signing keys are more than ${MAX_SIGNING_KEYS}`)
  const usable = keys.flatMap((jwk) => verificationKey(jwk.kid, jwk) ?? [])
  // Whoever can answer with nothing could shut everybody out; an API server always has a key.
  if (usable.length === 0) throw new Error('the key set has no key that could have signed a token')
  return usable
}

export function readIssuer(value: unknown): string {
  return v.parse(discoverySchema, value).issuer
}

function verificationKey(id: string, jwk: Readonly<Record<string, unknown>>): VerificationKey | undefined {
  const key = publicKeyOf(jwk)
  if (key === undefined) return undefined
  const algorithms = algorithmsOf(key)
  return algorithms.length === 0 ? undefined : { id, key, algorithms }
}

/** Only the public members: nothing secret has any business here, and a symmetric key must never become one. */
function publicKeyOf({ kty, crv, n, e, x, y }: Readonly<Record<string, unknown>>): KeyObject | undefined {
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') return undefined
  const members = Object.entries({ kty, crv, n, e, x, y }).filter(([, member]) => typeof member === 'string')
  try {
    return createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** As kube-apiserver has it: a key says by its kind which algorithms it takes, the token which of them it was. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string[] {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails ?? {}
  if (asymmetricKeyType === 'rsa')
    return modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS ? [] : rsaAlgorithms
  if (asymmetricKeyType === 'ed25519') return ['EdDSA']
  const ofCurve = asymmetricKeyType === 'ec' ? ecAlgorithms[namedCurve] : undefined
  return ofCurve === undefined ? [] : [ofCurve]
}
