/** How the hub speaks TLS: one set of options for every port and every cluster. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { certificatePem } from '../../identity/certificate.ts'
import { TLS_CONTEXT } from '../../network/tls/context-options.ts'
import type { ClusterDoor, ServerIdentity } from './connection.ts'

/** Without a door: a certificate that proves nothing, so that a client can at least be told why it gets nowhere. */
export function contextOptions(door: ClusterDoor | undefined, nobody?: ServerIdentity): SecureContextOptions {
  if (door === undefined)
    return nobody === undefined
      ? TLS_CONTEXT
      : { ...TLS_CONTEXT, cert: nobody.certificatePem, key: nobody.privateKeyPem }
  const { certificatePem: cert, privateKeyPem: key } = door.serverIdentity()
  // Tells clients which certificate to present. Whether it counts is for peer-check.ts to say.
  return { ...TLS_CONTEXT, cert, key, ca: door.cluster.authority().trust.map((ca) => certificatePem(ca)) }
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
