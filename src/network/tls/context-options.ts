/** How TLS is spoken here, at either end of a connection and to whomever. */
import { constants } from 'node:crypto'
import { DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls'

/**
 * Nothing that a peer could make cost: of the key exchanges only those over curves, because finite fields of the size that the peer
 * chooses take the event loop for as long as it likes; no second handshake on a connection, which nobody would look at.
 *
 * A resumed session would skip the checks of the peer's certificate, so there are no tickets (and Node keeps no sessions of
 * its own unless told to).
 */
export const TLS_CONTEXT: SecureContextOptions = {
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  minVersion: 'TLSv1.2',
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
}
