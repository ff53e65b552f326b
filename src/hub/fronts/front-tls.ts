/**
 * Mutual TLS before a front on a TCP port. Certificates are judged here, by our own verification, on every connection; nothing
 * is resumed, and what one client proved never counts for another.
 */
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { attributeValues, formatName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import { type PeerCertificates, peerCertificates } from '../../identity/peer.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import { formatAddress } from '../../network/listen.ts'
import { TLS_CONTEXT } from '../../network/tls/context-options.ts'
import { secureAsServer } from '../../network/tls/server-tls.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ServerIdentity } from '../port/connection.ts'
import type { FrontClient } from './front-client.ts'

/** Control planes are near; whoever takes longer only holds a place. */
export const FRONT_HANDSHAKE_TIMEOUT_MS = 10_000

export interface FrontTlsOptions {
  /** Asked for each new connection: another object means another certificate from then on. */
  readonly identity: () => ServerIdentity
  /** The CAs of the control plane's client certificates, asked for each new connection. */
  readonly trust: () => readonly Certificate[]
  /** The common names that may use the front; with none, every certificate that the CAs signed for clients may. */
  readonly allowedNames: readonly string[]
  readonly clock: Clock
  readonly net: SafetyNet
}

export class FrontTls {
  readonly #options: FrontTlsOptions
  #context: { readonly identity: ServerIdentity; readonly trust: string; readonly secure: SecureContext } | undefined

  constructor(options: FrontTlsOptions) {
    this.#options = options
    // What cannot be used should be known at the start, not when the first client comes.
    this.#secureContext()
  }

  /** Shakes hands and finds out who is there; rejects, with the socket destroyed, where that fails or takes too long. */
  async handshake(raw: Socket): Promise<{ socket: TLSSocket; client: FrontClient }> {
    const address = formatAddress({ host: raw.remoteAddress ?? '', port: raw.remotePort ?? 0 })
    const { clock, net } = this.#options
    const socket = await secureAsServer(raw, {
      clock,
      limitMs: FRONT_HANDSHAKE_TIMEOUT_MS,
      secureContext: () => this.#secureContext(),
    })
    net.watch(socket, 'connection')
    return { socket, client: this.#clientOf(socket, address) }
  }

  #secureContext(): SecureContext {
    const identity = this.#options.identity()
    const cas = this.#options.trust()
    const trust = cas.map(({ fingerprint }) => fingerprint).join()
    if (this.#context?.identity !== identity || this.#context.trust !== trust) {
      const { certificatePem: cert, privateKeyPem: key } = identity
      // The CAs tell clients which certificate to present, no more.
      const ca = cas.map((each) => certificatePem(each))
      this.#context = { identity, trust, secure: createSecureContext({ ...TLS_CONTEXT, cert, key, ca }) }
    }
    return this.#context.secure
  }

  #clientOf(socket: TLSSocket, address: string): FrontClient {
    try {
      const presented = peerCertificates(socket)
      if (presented === undefined) return { source: address, refusal: 'this front needs a client certificate' }
      const source = `${formatName(presented.certificate.subject)} from ${address}`
      const refusal = this.#problemOf(presented)
      return refusal === undefined ? { source, keepsWritesApart: true } : { source, refusal }
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error
      return { source: address, refusal: error.message }
    }
  }

  #problemOf({ certificate, intermediates }: PeerCertificates): string | undefined {
    const { clock, trust, allowedNames } = this.#options
    const atMs = clock.nowMs()
    const result = verifyCertificate(certificate, { trust: trust(), intermediates, usage: 'clientAuth', atMs })
    if (!result.ok) return result.message
    const names = attributeValues(certificate.subject, 'CN')
    if (allowedNames.length === 0 || names.some((name) => allowedNames.includes(name))) return undefined
    return `the certificate ${formatName(certificate.subject)} is not of a client that may use this front`
  }
}
