/**
 * What the client certificate of a connection proves: that the caller is this node, or nothing. Every rule stands here or
 * in `identity/verify.ts`; nothing is concluded from what the TLS library thought of it. The certificate of another node,
 * or of a person, is refused: its requests would go up under this node's certificate.
 */

import type { Peer } from '../../http/server/exchange.ts'
import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import { nodeOfSubject } from '../../identity/node-name.ts'
import { type PeerCertificates, readPresented } from '../../identity/peer.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import type { Clock } from '../../runtime/clock.ts'

export type CertificateVerdict =
  | { readonly kind: 'absent' }
  | { readonly kind: 'node' }
  | { readonly kind: 'wrong'; readonly message: string }

export interface ClientCertificateOptions {
  readonly node: string
  readonly clock: Clock
  /** CAs that sign client certificates of the cluster; a changed bundle is a new list. */
  readonly trust: () => readonly Certificate[]
  /** The node's own client certificate, which counts whoever signed it. */
  readonly own: () => Certificate | undefined
}

/** Signatures are slow to check, and a connection makes many requests: good until something it rests on changes. */
interface Remembered {
  readonly verdict: CertificateVerdict
  readonly trust: readonly Certificate[]
  readonly own: Certificate | undefined
  readonly fromMs: number
  readonly untilMs: number
}

/** A refusal may rest on dates, and time passes; but a client that repeats itself must not make us check signatures. */
export const CERTIFICATE_REFUSAL_MS = 1_000

const absent: CertificateVerdict = { kind: 'absent' }

export class ClientCertificates {
  readonly #options: ClientCertificateOptions
  readonly #remembered = new WeakMap<Peer, Remembered>()

  constructor(options: ClientCertificateOptions) {
    this.#options = options
  }

  of(peer: Peer): CertificateVerdict {
    if (peer.certificates.length === 0) return absent
    const nowMs = this.#options.clock.nowMs()
    const [trust, own] = [this.#options.trust(), this.#options.own()]
    const known = this.#remembered.get(peer)
    const isGood = known?.trust === trust && known.own === own && nowMs >= known.fromMs && nowMs <= known.untilMs
    if (isGood) return known.verdict
    const judged = this.#judge(peer.certificates, nowMs)
    this.#remembered.set(peer, { ...judged, trust, own, fromMs: nowMs })
    return judged.verdict
  }

  #judge(presented: readonly Buffer[], nowMs: number): Pick<Remembered, 'verdict' | 'untilMs'> {
    const chain = parsed(presented)
    if (typeof chain === 'string') return this.#wrong(chain, Number.POSITIVE_INFINITY)
    const { certificate, intermediates } = chain
    const own = this.#options.own()
    // Trusting exactly this certificate leaves dates and usages to be checked like those of any other.
    const isOwn = own?.der.equals(certificate.der) === true
    const trust = isOwn ? [certificate] : this.#options.trust()
    const verified = verifyCertificate(certificate, { trust, intermediates, usage: 'clientAuth', atMs: nowMs })
    if (!verified.ok) return this.#wrong(verified.message, nowMs + CERTIFICATE_REFUSAL_MS)
    const untilMs = Math.min(...verified.chain.map(({ notAfterMs }) => notAfterMs))
    if (nodeOfSubject(certificate.subject) === this.#options.node) return { verdict: { kind: 'node' }, untilMs }
    return this.#wrong(`the client certificate is that of ${formatName(certificate.subject)}`, untilMs)
  }

  #wrong(why: string, untilMs: number): Pick<Remembered, 'verdict' | 'untilMs'> {
    const message =
      `${why}; this endpoint takes only the client certificate of node ${this.#options.node}. ` +
      'Other callers present a token and no certificate'
    return { verdict: { kind: 'wrong', message }, untilMs }
  }
}

/** The sentence that says why it cannot be read, where that is so. */
function parsed(presented: readonly Buffer[]): PeerCertificates | string {
  try {
    return readPresented(presented, 'client') ?? 'there is no client certificate'
  } catch (error) {
    if (error instanceof IdentityError) return error.message
    throw error
  }
}
