/**
 * Signatures as X.509 names them. A key signs with the one hash that fits it; of others we accept SHA-256 and better.
 * Work happens on the thread pool, so that issuing many certificates does not hold up the event loop.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { Null } from 'asn1js'
import { AlgorithmIdentifier } from 'pkijs'
import { IdentityError } from './errors.ts'
import { type EcCurve, type KeyKind, keyKind } from './keys.ts'

interface SignatureAlgorithm {
  readonly keyType: KeyKind['type']
  /** `null` where the key type brings its own. */
  readonly hash: string | null
}

const algorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  ['1.2.840.113549.1.1.11', { keyType: 'rsa', hash: 'sha256' }],
  ['1.2.840.113549.1.1.12', { keyType: 'rsa', hash: 'sha384' }],
  ['1.2.840.113549.1.1.13', { keyType: 'rsa', hash: 'sha512' }],
  ['1.2.840.10045.4.3.2', { keyType: 'ec', hash: 'sha256' }],
  ['1.2.840.10045.4.3.3', { keyType: 'ec', hash: 'sha384' }],
  ['1.2.840.10045.4.3.4', { keyType: 'ec', hash: 'sha512' }],
  ['1.3.101.112', { keyType: 'ed25519', hash: null }],
])

const RSA_SIGNATURE = '1.2.840.113549.1.1.11'
const ED25519_SIGNATURE = '1.3.101.112'
const ecSignatures: Readonly<Record<EcCurve, string>> = {
  'P-256': '1.2.840.10045.4.3.2',
  'P-384': '1.2.840.10045.4.3.3',
  'P-521': '1.2.840.10045.4.3.4',
}

const signOnPool = promisify(sign) as (hash: string | null, data: Uint8Array, key: KeyObject) => Promise<Buffer>
const verifyOnPool = promisify(verify) as (
  hash: string | null,
  data: Uint8Array,
  key: KeyObject,
  signature: Uint8Array,
) => Promise<boolean>

/** What this key's signatures are marked with in certificates and requests. */
export function signatureAlgorithmOf(key: KeyObject): AlgorithmIdentifier {
  const kind = keyKind(key, 'the signing key')
  if (kind.type === 'rsa') return new AlgorithmIdentifier({ algorithmId: RSA_SIGNATURE, algorithmParams: new Null() })
  return new AlgorithmIdentifier({ algorithmId: kind.type === 'ec' ? ecSignatures[kind.curve] : ED25519_SIGNATURE })
}

export async function signBytes(key: KeyObject, data: Uint8Array): Promise<Buffer> {
  const { algorithmId } = signatureAlgorithmOf(key)
  return await signOnPool(algorithms.get(algorithmId)?.hash ?? null, data, key)
}

export function isAcceptedSignature(algorithmOid: string): boolean {
  return algorithms.has(algorithmOid)
}

/** Whether `signature` over `data` is this key's; throws for algorithms that are unknown or too weak to mean anything. */
export async function isSignedBy(
  key: KeyObject,
  algorithmOid: string,
  data: Uint8Array,
  signature: Uint8Array,
  source: string,
): Promise<boolean> {
  const algorithm = algorithms.get(algorithmOid)
  if (algorithm === undefined)
    throw new IdentityError(
      'unsupported-algorithm',
      `${source} is signed with the algorithm ${algorithmOid}; use RSA or ECDSA with SHA-256 or better, or Ed25519`,
    )
  if (algorithm.keyType !== keyKind(key, `the key of ${source}`).type) return false
  return await verifyOnPool(algorithm.hash, data, key, signature)
}
