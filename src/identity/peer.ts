/** The certificates a TLS peer presented: as they came, or ready for `verify.ts`. */
import type { TLSSocket } from 'node:tls'
import { type Certificate, parseCertificate } from './certificate.ts'
import { MAX_CHAIN_LENGTH } from './verify.ts'

export interface PeerCertificates {
  readonly certificate: Certificate
  readonly intermediates: readonly Certificate[]
}

/** DER, the peer's own first; none if it presented none. Nothing of it has been read yet: one that presents garbage has presented it. */
export function presentedCertificates(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = []
  let next = socket.getPeerX509Certificate()
  while (next !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    chain.push(next.raw)
    next = next.issuerCertificate
  }
  return chain
}

/** `undefined` if the peer presented none. Throws `IdentityError` for one that cannot be read. */
export function peerCertificates(socket: TLSSocket): PeerCertificates | undefined {
  const [certificate, ...intermediates] = presentedCertificates(socket).map((der, index) =>
    parseCertificate(der, index === 0 ? "the peer's certificate" : "a CA in the peer's chain"),
  )
  return certificate === undefined ? undefined : { certificate, intermediates }
}
