/** JWTs as they come in: taken apart first, believed only after their signature has been checked. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { compactVerify, errors } from 'jose'
import { BoundedMap } from '../../runtime/bounded-map.ts'
import { jwtAlgorithm, jwtKeyId } from '../jwk.ts'
import { isJsonObject, type JsonObject } from './claims.ts'

/** Signatures that need no second check. A token is about 1 kB, only its hash is kept. */
const MAX_REMEMBERED_TOKENS = 8192

export interface UnverifiedToken {
  readonly text: string
  /** Empty when the token does not name its key. */
  readonly keyId: string
  readonly payload: JsonObject
}

const base64Url = /^[A-Za-z0-9_-]*$/

/** undefined for anything that is not a JWT in compact form. */
export function parseToken(text: string): UnverifiedToken | undefined {
  const [header = '', payload = '', signature, ...rest] = text.split('.')
  if (signature === undefined || rest.length > 0 || !base64Url.test(signature)) return undefined
  const headerMembers = parsePart(header)
  const payloadMembers = parsePart(payload)
  if (headerMembers === undefined || payloadMembers === undefined) return undefined
  const keyId = headerMembers['kid'] ?? ''
  if (typeof keyId !== 'string' || typeof headerMembers['alg'] !== 'string') return undefined
  return { text, keyId, payload: payloadMembers }
}

function parsePart(part: string): JsonObject | undefined {
  if (!base64Url.test(part)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export type SignatureCheck = 'valid' | 'unknown-key' | 'bad-signature'

/** A public key, by the name that tokens have for it, and the algorithms it may have been used with. */
export interface VerificationKey {
  readonly id: string
  readonly key: KeyObject
  readonly algorithms: readonly string[]
}

/** A key that we sign with ourselves, private or public: there is one algorithm for it. */
export function ownVerificationKey(key: KeyObject): VerificationKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  return { id: jwtKeyId(publicKey), key: publicKey, algorithms: [jwtAlgorithm(publicKey)] }
}

/** Checks signatures by a set of keys. Each key is good for its own algorithms only, whatever the token claims. */
export class SignatureVerifier {
  readonly #keys: readonly VerificationKey[]
  /** Hashes of tokens with a good signature: keys never change, nor does this verdict. */
  readonly #valid = new BoundedMap<string, true>(MAX_REMEMBERED_TOKENS)

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys
  }

  async check(token: UnverifiedToken): Promise<SignatureCheck> {
    const hash = createHash('sha256').update(token.text).digest('base64')
    if (this.#valid.use(hash) === true) return 'valid'
    const keys = token.keyId === '' ? this.#keys : this.#keys.filter(({ id }) => id === token.keyId)
    if (keys.length === 0) return 'unknown-key'
    for (const key of keys) {
      if (!(await isSignedBy(token.text, key))) continue
      this.#valid.set(hash, true)
      return 'valid'
    }
    return 'bad-signature'
  }
}

async function isSignedBy(text: string, { key, algorithms }: VerificationKey): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [...algorithms] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}
