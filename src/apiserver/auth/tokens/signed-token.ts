/** JWTs as they come in: taken apart first, believed only after their signature has been checked. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { compactVerify, errors } from 'jose'
import { jwtAlgorithm, jwtKeyId } from '../../../identity/jwk.ts'
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

/** Checks signatures by a set of keys. Each key is good for its own algorithm only, whatever the token claims. */
export class SignatureVerifier {
  readonly #keys: readonly KeyObject[]
  readonly #keysById: ReadonlyMap<string, KeyObject>
  /** Hashes of tokens with a good signature, the least recently used first: keys never change, nor does this verdict. */
  readonly #valid = new Set<string>()

  constructor(keys: readonly KeyObject[]) {
    this.#keys = keys.map((key) => (key.type === 'private' ? createPublicKey(key) : key))
    this.#keysById = new Map(this.#keys.map((key) => [jwtKeyId(key), key]))
  }

  async check(token: UnverifiedToken): Promise<SignatureCheck> {
    const hash = createHash('sha256').update(token.text).digest('base64')
    if (this.#valid.delete(hash)) {
      this.#valid.add(hash)
      return 'valid'
    }
    const candidates = token.keyId === '' ? this.#keys : [this.#keysById.get(token.keyId)]
    const keys = candidates.filter((key) => key !== undefined)
    if (keys.length === 0) return 'unknown-key'
    for (const key of keys) {
      if (!(await isSignedBy(token.text, key))) continue
      this.#remember(hash)
      return 'valid'
    }
    return 'bad-signature'
  }

  #remember(hash: string): void {
    this.#valid.add(hash)
    const [oldest] = this.#valid
    if (this.#valid.size > MAX_REMEMBERED_TOKENS && oldest !== undefined) this.#valid.delete(oldest)
  }
}

async function isSignedBy(text: string, key: KeyObject): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [jwtAlgorithm(key)] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}
