/** PKCS#10 signing requests: made with our key, or read from strangers, whose proof of holding the key is checked at once. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { BitString } from 'asn1js'
import { Attribute, CertificationRequest, Extensions, PublicKeyInfo, RelativeDistinguishedNames } from 'pkijs'
import type { RequestedNames } from './alternative-names.ts'
import { ownBytes, readStructure } from './der.ts'
import { type DistinguishedName, decodeName, encodeName } from './distinguished-name.ts'
import { IdentityError, rethrowAs } from './errors.ts'
import { decodeExtensions, type ExtensionValues, encodeExtensions } from './extensions.ts'
import { keyKind, publicKeyDer } from './keys.ts'
import { readPem, writePem } from './pem.ts'
import { isSignedBy, signatureAlgorithmOf, signBytes } from './signature.ts'

/** Room for a large RSA key and some two hundred names. */
export const MAX_REQUEST_BYTES = 16 * 1024
export const REQUEST_LABEL = 'CERTIFICATE REQUEST'

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

/** What somebody asks for. Only the key is proven; everything else is a wish for the signer to judge. */
export interface CertificateRequest extends ExtensionValues {
  readonly der: Buffer
  readonly subject: DistinguishedName
  readonly publicKey: KeyObject
}

export interface RequestTemplate {
  readonly subject: DistinguishedName
  readonly names?: RequestedNames
}

/** A request in PEM, signed with `privateKey`. */
export async function createRequest({ subject, names }: RequestTemplate, privateKey: KeyObject): Promise<string> {
  const structure = rethrowAs('invalid-template', 'the wanted request cannot be encoded', () => {
    const extensions = encodeExtensions({ names })
    const request = new CertificationRequest({
      subject: new RelativeDistinguishedNames({ valueBeforeDecode: encodeName(subject).buffer }),
      subjectPublicKeyInfo: PublicKeyInfo.fromBER(ownBytes(publicKeyDer(privateKey))),
      attributes: extensions.length === 0 ? [] : [extensionRequest(new Extensions({ extensions }))],
      signatureAlgorithm: signatureAlgorithmOf(privateKey),
    })
    const [info] = request.toSchema(true).valueBlock.value
    request.tbsView = new Uint8Array(info?.toBER() ?? [])
    return request
  })
  const signature = await signBytes(privateKey, structure.tbsView)
  structure.signatureValue = new BitString({ valueHex: ownBytes(signature) })
  return writePem(REQUEST_LABEL, new Uint8Array(structure.toSchema().toBER()))
}

function extensionRequest(extensions: Extensions): Attribute {
  return new Attribute({ type: EXTENSION_REQUEST, values: [extensions.toSchema()] })
}

/** The one request of a PEM text, its proof of possession verified. */
export async function readRequest(pem: string | Uint8Array, source = 'the request'): Promise<CertificateRequest> {
  // Base64 and its line breaks take less than twice the room of the bytes.
  if (pem.length > 2 * MAX_REQUEST_BYTES) throw tooLarge(source)
  const [block, second] = readPem(pem, source)
  if (block === undefined) throw new IdentityError('none-found', `${source} holds no PEM block "${REQUEST_LABEL}"`)
  if (block.label !== REQUEST_LABEL)
    throw new IdentityError('none-found', `${source} holds a "${block.label}"; a "${REQUEST_LABEL}" is expected`)
  if (second !== undefined)
    throw new IdentityError('several-found', `${source} holds more than one PEM block; exactly one is expected`)
  return await parseRequest(block.der, source)
}

/** The request in DER, its proof of possession verified. */
export async function parseRequest(der: Uint8Array, source = 'the request'): Promise<CertificateRequest> {
  if (der.length > MAX_REQUEST_BYTES) throw tooLarge(source)
  const structure = readStructure(CertificationRequest, der, 'malformed-request', source)
  const request = rethrowAs('malformed-request', `${source} cannot be read`, () => requestOf(structure, der, source))
  const { signatureAlgorithm, signatureValue, tbsView } = structure
  const { valueHexView: signature, unusedBits } = signatureValue.valueBlock
  // The signature does not cover itself; without this, one request would have several encodings that all verify.
  if (unusedBits !== 0) throw new IdentityError('malformed-request', `the signature of ${source} is not whole bytes`)
  if (!(await isSignedBy(request.publicKey, signatureAlgorithm.algorithmId, tbsView, signature, source)))
    throw new IdentityError('bad-proof', `${source} was not signed with the key it asks a certificate for`)
  return request
}

function requestOf(structure: CertificationRequest, der: Uint8Array, source: string): CertificateRequest {
  const spki = Buffer.from(structure.subjectPublicKeyInfo.toSchema().toBER())
  const publicKey = rethrowAs('malformed-key', `the key in ${source} cannot be read`, () =>
    createPublicKey({ key: spki, format: 'der', type: 'spki' }),
  )
  keyKind(publicKey, `the key in ${source}`)
  return {
    ...decodeExtensions(requestedExtensions(structure.attributes ?? [], source).extensions, source),
    der: Buffer.from(der),
    subject: decodeName(structure.subject, 'malformed-request', source),
    publicKey,
  }
}

function requestedExtensions(attributes: readonly Attribute[], source: string): Extensions {
  const [first, ...others] = attributes.filter(({ type }) => type === EXTENSION_REQUEST)
  if (first === undefined) return new Extensions()
  const [schema, ...more] = first.values
  if (schema === undefined || others.length > 0 || more.length > 0)
    throw new IdentityError('malformed-request', `${source} must list its extensions exactly once`)
  return new Extensions({ schema })
}

function tooLarge(source: string): IdentityError {
  return new IdentityError('too-large', `${source} is larger than ${MAX_REQUEST_BYTES} bytes`)
}
