/** The kind and size of a certificate's public key, read without the work of making a key of it. */
import { HandshakeRefusal } from './handshake-refusal.ts'

/** DER of the algorithms' and curves' object identifiers, in hexadecimal. */
const RSA = '2a864886f70d010101'
const EC = '2a8648ce3d0201'
const ED25519 = '2b6570'
const CURVES: ReadonlyMap<string, string> = new Map([
  ['2a8648ce3d030107', 'P-256'],
  ['2b81040022', 'P-384'],
  ['2b81040023', 'P-521'],
])

const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_IDENTIFIER = 0x06
const SEQUENCE = 0x30
/** Context-specific and constructed, number 0: the version of a certificate. */
const VERSION = 0xa0

export type PublicKeyShape =
  | { readonly kind: 'rsa'; readonly modulusBits: number; readonly exponentBits: number }
  | { readonly kind: 'ec'; readonly curve: string }
  | { readonly kind: 'ed25519' }

/** Throws a `HandshakeRefusal` for keys of other kinds, and for what is no certificate in DER. */
export function publicKeyShapeOf(certificate: Buffer): PublicKeyShape {
  const fields = new Der(new Der(new Der(certificate).take(SEQUENCE)).take(SEQUENCE))
  if (fields.nextTag === VERSION) fields.take(VERSION)
  fields.take(INTEGER)
  // How it is signed, by whom, for how long and for whom.
  for (let skipped = 0; skipped < 4; skipped += 1) fields.take(SEQUENCE)
  const key = new Der(fields.take(SEQUENCE))
  const algorithm = new Der(key.take(SEQUENCE))
  const kind = algorithm.take(OBJECT_IDENTIFIER).toString('hex')
  if (kind === ED25519) return { kind: 'ed25519' }
  if (kind === EC) return { kind: 'ec', curve: curveOf(algorithm) }
  if (kind === RSA) return rsaShapeOf(key.take(BIT_STRING))
  throw new HandshakeRefusal('a certificate has a key that is neither RSA nor of an elliptic curve in use')
}

function curveOf(algorithm: Der): string {
  // Parameters written out in full could be any curve, at any price.
  const name = algorithm.nextTag === OBJECT_IDENTIFIER ? algorithm.take(OBJECT_IDENTIFIER).toString('hex') : ''
  const curve = CURVES.get(name)
  if (curve === undefined)
    throw new HandshakeRefusal(`a certificate has a key of a curve other than ${[...CURVES.values()].join(', ')}`)
  return curve
}

function rsaShapeOf(bits: Buffer): PublicKeyShape {
  // In front of a bit string stands how many of its last bits do not count.
  const numbers = new Der(new Der(bits.subarray(1)).take(SEQUENCE))
  const modulusBits = bitsOf(numbers.take(INTEGER))
  return { kind: 'rsa', modulusBits, exponentBits: bitsOf(numbers.take(INTEGER)) }
}

function bitsOf(integer: Buffer): number {
  let first = 0
  while (integer[first] === 0) first += 1
  const top = integer[first]
  return top === undefined ? 0 : (integer.length - first) * 8 - (Math.clz32(top) - 24)
}

/** Bytes of a length in DER: enough for sixteen megabytes. */
const MAX_LENGTH_OCTETS = 3

class Der {
  #rest: Buffer

  constructor(bytes: Buffer) {
    this.#rest = bytes
  }

  get nextTag(): number | undefined {
    return this.#rest[0]
  }

  /** The content of the next value, which has to have this tag. */
  take(tag: number): Buffer {
    const first = this.#rest[1]
    if (this.#rest[0] !== tag || first === undefined) throw malformed()
    const octets = first < 0x80 ? 0 : first - 0x80
    const start = 2 + octets
    // Neither lengths that are not said nor those that no certificate has.
    if (first === 0x80 || octets > MAX_LENGTH_OCTETS || start > this.#rest.length) throw malformed()
    const end = start + (octets === 0 ? first : this.#rest.readUIntBE(2, octets))
    if (end > this.#rest.length) throw malformed()
    const content = this.#rest.subarray(start, end)
    this.#rest = this.#rest.subarray(end)
    return content
  }
}

function malformed(): HandshakeRefusal {
  return new HandshakeRefusal('a certificate is malformed')
}
