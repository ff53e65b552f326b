/** The certificates a TLS peer presented: as they came, or ready for `verify.ts`. */
import type { TLSSocket } from 'node:tls'
import { type Certificate, parseCertificate } from './certificate.ts'
import { IdentityError } from './errors.ts'
import { MAX_CHAIN_LENGTH } from './verify.ts'

/** Bytes of all certificates a peer presents together: strangers may present some too, and every kilobyte takes about a millisecond to read. */
export const MAX_PRESENTED_BYTES = 32 * 1024

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
  return readPresented(presentedCertificates(socket), 'peer')
}

/** Reads what was presented, the peer's own certificate first. `whose` names it in messages. */
export function readPresented(chain: readonly Uint8Array[], whose: 'peer' | 'client'): PeerCertificates | undefined {
  const bytes = chain.reduce((sum, { length }) => sum + length, 0)
  if (bytes > MAX_PRESENTED_BYTES)
    throw new IdentityError('too-large', `the ${whose} presents certificates of more than ${MAX_PRESENTED_BYTES} bytes`)
  const [certificate, ...intermediates] = chain.map((der, index) =>
    parseCertificate(der, index === 0 ? `the certificate of the ${whose}` : `a CA in the chain of the ${whose}`),
  )
  return certificate === undefined ? undefined : { certificate, intermediates }
}
