/** Key pairs: made, read from every PEM form people have, written, and told apart by their fingerprints. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { IdentityError, rethrowAs } from './errors.ts'
import { type PemBlock, readPem, writePem } from './pem.ts'

/** Shorter ones can be broken, and TLS libraries refuse them. */
const MIN_RSA_BITS = 2048
/** Signatures of larger keys take so long to check that a stranger could keep us busy with them. */
const MAX_RSA_BITS = 8192

export type EcCurve = 'P-256' | 'P-384' | 'P-521'

export type KeyKind =
  | { readonly type: 'ec'; readonly curve: EcCurve }
  | { readonly type: 'rsa'; readonly bits: number }
  | { readonly type: 'ed25519' }

export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The object identifiers of the curves, as they stand in a public key. */
const curves: readonly (readonly [EcCurve, Buffer])[] = [
  ['P-256', Buffer.from('06082a8648ce3d030107', 'hex')],
  ['P-384', Buffer.from('06052b81040022', 'hex')],
  ['P-521', Buffer.from('06052b81040023', 'hex')],
]

const generate = promisify(generateKeyPair)

/** A new key pair; ECDSA P-256 unless told otherwise. */
export async function generateKeys(kind: KeyKind = { type: 'ec', curve: 'P-256' }): Promise<KeyPair> {
  if (kind.type === 'ec') return await generate('ec', { namedCurve: kind.curve })
  if (kind.type === 'ed25519') return await generate('ed25519', {})
  checkRsaBits(kind.bits, 'the wanted key')
  return await generate('rsa', { modulusLength: kind.bits })
}

/** What kind of key this is; throws for kinds this program does not work with, and for weak ones. */
export function keyKind(key: KeyObject, source: string): KeyKind {
  const { asymmetricKeyType: type } = key
  if (type === 'ed25519') return { type }
  if (type === 'rsa') {
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
    checkRsaBits(bits, source)
    return { type, bits }
  }
  const curve = type === 'ec' ? curveOf(key, source) : undefined
  if (type === 'ec' && curve !== undefined) return { type, curve }
  const what = type === 'ec' ? 'an EC key on another curve' : `a key of type ${type}`
  throw new IdentityError(
    'unsupported-key',
    `${source} is ${what}; use ECDSA P-256, P-384 or P-521, RSA of at least ${MIN_RSA_BITS} bits, or Ed25519`,
  )
}

/** By the bytes of the public key: asking Node for the details of a damaged EC key ends the process. */
function curveOf(key: KeyObject, source: string): EcCurve | undefined {
  const spki = rethrowAs('malformed-key', `${source} is no whole EC key`, () => publicKeyDer(key))
  return curves.find(([, identifier]) => spki.includes(identifier))?.[0]
}

function checkRsaBits(bits: number, source: string): void {
  if (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS) return
  const problem = `${source} is an RSA key of ${bits} bits; only ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits are accepted`
  throw new IdentityError(bits < MIN_RSA_BITS ? 'weak-key' : 'unsupported-key', problem)
}

const privateKeyForms: ReadonlyMap<string, 'pkcs8' | 'pkcs1' | 'sec1'> = new Map([
  ['PRIVATE KEY', 'pkcs8'],
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['EC PRIVATE KEY', 'sec1'],
])

/**
 * The one private key of a PEM text: PKCS#8, PKCS#1 or SEC1. Certificates and EC parameters beside it are passed over,
 * since people keep both in one file. `source` names the text in messages.
 */
export function readPrivateKey(pem: string | Uint8Array, source: string): KeyObject {
  const blocks = readPem(pem, source)
  const keys = blocks.filter(({ label }) => label.endsWith('PRIVATE KEY'))
  const [block] = keys
  if (block === undefined) throw noPrivateKey(blocks, source)
  if (keys.length > 1)
    throw new IdentityError('several-found', `${source} holds ${keys.length} private keys; exactly one is needed`)
  return privateKeyOf(block, source)
}

function privateKeyOf(block: PemBlock, source: string): KeyObject {
  if (block.label === 'ENCRYPTED PRIVATE KEY' || block.headers['Proc-Type']?.includes('ENCRYPTED') === true)
    throw new IdentityError(
      'encrypted-key',
      `${source} is protected by a passphrase; decrypt it with \`openssl pkey\` and protect the file by its mode`,
    )
  const type = privateKeyForms.get(block.label)
  if (type === undefined)
    throw new IdentityError(
      'unsupported-key',
      `${source} holds a "${block.label}", a form of key that is not supported`,
    )
  const key = rethrowAs('malformed-key', `${source}: the ${block.label} block does not hold such a key`, () =>
    createPrivateKey({ key: block.der, format: 'der', type }),
  )
  keyKind(key, source)
  return key
}

function noPrivateKey(blocks: readonly PemBlock[], source: string): IdentityError {
  const [first] = blocks
  const found = first === undefined ? 'no PEM block' : `only a "${first.label}"`
  return new IdentityError('none-found', `${source} holds ${found} where a private key is expected`)
}

/** All keys of a PEM text as public keys, be they given as public keys, private keys or certificates. */
export function readPublicKeys(pem: string | Uint8Array, source: string): KeyObject[] {
  const blocks = readPem(pem, source).filter(({ label }) => label !== 'EC PARAMETERS')
  if (blocks.length === 0)
    throw new IdentityError('none-found', `${source} holds no PEM block; a public key is expected`)
  return blocks.map((block) => {
    if (block.label.endsWith('PRIVATE KEY')) return createPublicKey(privateKeyOf(block, source))
    const key = rethrowAs('malformed-key', `${source}: the ${block.label} block does not hold a public key`, () =>
      createPublicKey(writePem(block.label, block.der)),
    )
    keyKind(key, source)
    return key
  })
}

/** PKCS#8, which every program of today reads. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function publicKeyPem(key: KeyObject): string {
  return publicHalf(key).export({ type: 'spki', format: 'pem' }) as string
}

/** Keys never change, and every question about one begins with these bytes. */
const publicKeyDers = new WeakMap<KeyObject, Buffer>()

/** Shared by all who ask: not to be written to. */
export function publicKeyDer(key: KeyObject): Buffer {
  const known = publicKeyDers.get(key)
  if (known !== undefined) return known
  const der = publicHalf(key).export({ type: 'spki', format: 'der' })
  publicKeyDers.set(key, der)
  return der
}

/** SHA-256 of the public key's DER: the same for a private key, its public key and every certificate of it. */
export function keyFingerprint(key: KeyObject, encoding: 'hex' | 'base64url' = 'hex'): string {
  return createHash('sha256').update(publicKeyDer(key)).digest(encoding)
}

export function keyMatchesCertificate(key: KeyObject, certificate: { readonly publicKey: KeyObject }): boolean {
  return publicKeyDer(key).equals(publicKeyDer(certificate.publicKey))
}

function publicHalf(key: KeyObject): KeyObject {
  return key.type === 'private' ? createPublicKey(key) : key
}
