/** How the hub speaks TLS: one set of options for every port and every cluster. */
import { constants } from 'node:crypto'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { certificatePem } from '../../identity/certificate.ts'
import type { ClusterDoor, ServerIdentity } from './connection.ts'

/**
 * A resumed session would skip the checks of the client's certificate, so there are no tickets (and Node keeps no sessions of
 * its own unless told to); negotiating again could bring in another certificate.
 */
const secureOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION

/** Without a door: a certificate that proves nothing, so that a client can at least be told why it gets nowhere. */
export function contextOptions(door: ClusterDoor | undefined, nobody?: ServerIdentity): SecureContextOptions {
  const fixed = { secureOptions, minVersion: 'TLSv1.2' } as const
  if (door === undefined)
    return nobody === undefined ? fixed : { ...fixed, cert: nobody.certificatePem, key: nobody.privateKeyPem }
  const { certificatePem: cert, privateKeyPem: key } = door.serverIdentity()
  // Tells clients which certificate to present. Whether it counts is for peer-check.ts to say.
  return { ...fixed, cert, key, ca: door.cluster.authority().trust.map((ca) => certificatePem(ca)) }
}

interface Made {
  readonly trust: string
  readonly context: SecureContext
}

/** Contexts are costly to make, so each is made once for its certificate and its CAs. */
export class TlsContexts {
  readonly #made = new WeakMap<ServerIdentity, Made>()

  for(door: ClusterDoor): SecureContext {
    const identity = door.serverIdentity()
    const trust = trustMark(door)
    const known = this.#made.get(identity)
    if (known?.trust === trust) return known.context
    const context = createSecureContext(contextOptions(door))
    this.#made.set(identity, { trust, context })
    return context
  }
}

/** Differs whenever the trusted CAs do. */
export function trustMark(door: ClusterDoor): string {
  return door.cluster
    .authority()
    .trust.map(({ fingerprint }) => fingerprint)
    .join()
}
