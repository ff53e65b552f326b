/**
 * Which chains of certificates OpenSSL may check at our expense. Those in use cost a few milliseconds at most; a key of ten
 * thousand bits, or an exponent as long as its modulus, takes a hundred times as long, for each certificate of the chain.
 */
import { HandshakeRefusal } from './handshake-refusal.ts'
import { publicKeyShapeOf } from './public-key.ts'

/** Certificates in a handshake: the peer's own and the CAs above it. */
export const MAX_HANDSHAKE_CERTIFICATES = 8
/** Bytes of all certificates in a handshake together. */
export const MAX_HANDSHAKE_CERTIFICATE_BYTES = 32 * 1024
/** Four times the work of the largest keys in use. */
export const MAX_HANDSHAKE_RSA_BITS = 8192
/** Bytes of a chain in which CAs say which names they may vouch for: each name below is compared with each of those. */
export const MAX_CONSTRAINED_CERTIFICATE_BYTES = 8 * 1024
/** Everybody uses 65537; the work grows with the length. */
const MAX_HANDSHAKE_RSA_EXPONENT_BITS = 32

/** Throws a `HandshakeRefusal` for a chain that would cost more. An empty one is a peer that presents none. */
export function checkChainPrice(certificates: readonly Buffer[]): void {
  if (certificates.length > MAX_HANDSHAKE_CERTIFICATES)
    throw new HandshakeRefusal(`more than ${MAX_HANDSHAKE_CERTIFICATES} certificates are presented`)
  const bytes = certificates.reduce((sum, { length }) => sum + length, 0)
  if (bytes > MAX_HANDSHAKE_CERTIFICATE_BYTES)
    throw new HandshakeRefusal(`certificates of more than ${MAX_HANDSHAKE_CERTIFICATE_BYTES} bytes are presented`)
  if (bytes > MAX_CONSTRAINED_CERTIFICATE_BYTES && certificates.some((each) => each.includes(NAME_CONSTRAINTS)))
    throw new HandshakeRefusal(
      `certificates of more than ${MAX_CONSTRAINED_CERTIFICATE_BYTES} bytes are presented, with constraints of names`,
    )
  for (const certificate of certificates) checkKey(certificate)
}

/** The object identifier of the extension, in DER. */
const NAME_CONSTRAINTS = Buffer.from('0603551d1e', 'hex')

function checkKey(certificate: Buffer): void {
  const shape = publicKeyShapeOf(certificate)
  if (shape.kind !== 'rsa') return
  if (shape.modulusBits > MAX_HANDSHAKE_RSA_BITS)
    throw new HandshakeRefusal(`a certificate has an RSA key of more than ${MAX_HANDSHAKE_RSA_BITS} bits`)
  if (shape.exponentBits > MAX_HANDSHAKE_RSA_EXPONENT_BITS)
    throw new HandshakeRefusal(
      `a certificate has an RSA key with an exponent of more than ${MAX_HANDSHAKE_RSA_EXPONENT_BITS} bits`,
    )
}
