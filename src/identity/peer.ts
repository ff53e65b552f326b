/** The certificates a TLS peer presented, ready for `verify.ts`. */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { type Certificate, parseCertificate } from './certificate.ts'
import { MAX_CHAIN_LENGTH } from './verify.ts'

export interface PeerCertificates {
  readonly certificate: Certificate
  readonly intermediates: readonly Certificate[]
}

/** `undefined` if the peer presented none. Throws `IdentityError` for one that cannot be read. */
export function peerCertificates(socket: TLSSocket): PeerCertificates | undefined {
  const chain: Certificate[] = []
  let next: X509Certificate | undefined = socket.getPeerX509Certificate()
  while (next !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    chain.push(parseCertificate(next.raw, chain.length === 0 ? "the peer's certificate" : "a CA in the peer's chain"))
    next = next.issuerCertificate
  }
  const [certificate, ...intermediates] = chain
  return certificate === undefined ? undefined : { certificate, intermediates }
}
