/** A certificate of the client CA: the common name is the user, the organizations are the groups. */

import type { Exchange, Peer } from '../../../http/server/exchange.ts'
import type { Certificate } from '../../../identity/certificate.ts'
import { attributeValues, commonName } from '../../../identity/distinguished-name.ts'
import { IdentityError } from '../../../identity/errors.ts'
import { type PeerCertificates, readPresented } from '../../../identity/peer.ts'
import { verifyCertificate } from '../../../identity/verify.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Authentication, Authenticator } from '../authenticator.ts'

/** A verdict on a connection's certificate, good while the trust and the dates are the same. */
interface Verdict {
  readonly answer: Authentication
  readonly trust: readonly Certificate[]
  readonly fromMs: number
  readonly untilMs: number
}

export class CertificateAuthenticator implements Authenticator {
  readonly #clock: Clock
  readonly #trust: () => readonly Certificate[]
  readonly #verdicts = new WeakMap<Peer, Verdict>()

  /** `trust` is asked each time, since bundles are reloaded; a new bundle is a new list. */
  constructor(clock: Clock, trust: () => readonly Certificate[]) {
    this.#clock = clock
    this.#trust = trust
  }

  authenticate({ peer }: Exchange): Promise<Authentication> {
    const nowMs = this.#clock.nowMs()
    const known = this.#verdicts.get(peer)
    const isGood = known?.trust === this.#trust() && nowMs >= known.fromMs && nowMs <= known.untilMs
    return Promise.resolve(isGood ? known.answer : this.#judge(peer, nowMs))
  }

  /** Once for each connection: signatures are slow to check, and a connection makes many requests. */
  #judge(peer: Peer, nowMs: number): Authentication {
    const presented = presentedBy(peer)
    if (presented === undefined) return { outcome: 'absent' }
    if (typeof presented === 'string') return { outcome: 'wrong', reason: presented }
    const { certificate, intermediates } = presented
    const trust = this.#trust()
    const options = { trust, intermediates, usage: 'clientAuth', atMs: nowMs, ifUsageAbsent: 'accept' } as const
    const verified = verifyCertificate(certificate, options)
    // A certificate of another CA may still mean something to another authenticator.
    if (!verified.ok) return { outcome: 'wrong', reason: verified.message }
    const answer = userOf(certificate)
    const untilMs = Math.min(...verified.chain.map(({ notAfterMs }) => notAfterMs))
    this.#verdicts.set(peer, { answer, trust, fromMs: nowMs, untilMs })
    return answer
  }
}

function userOf(certificate: Certificate): Authentication {
  const name = commonName(certificate.subject)
  if (name === undefined || name === '')
    return { outcome: 'wrong', reason: 'the client certificate has no common name' }
  const groups = attributeValues(certificate.subject, 'O')
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] }
  return { outcome: 'known', user: { name, uid: '', groups, extra } }
}

/** What was read, or why it was not. */
type Presented = PeerCertificates | string | undefined

/** Certificates are read once per connection. */
const read = new WeakMap<Peer, { readonly presented: Presented }>()

/** Undefined where the peer has presented none. */
export function presentedBy(peer: Peer): Presented {
  let known = read.get(peer)
  if (known === undefined) {
    known = { presented: readOf(peer) }
    read.set(peer, known)
  }
  return known.presented
}

function readOf({ certificates }: Peer): Presented {
  try {
    return readPresented(certificates, 'client')
  } catch (error) {
    if (error instanceof IdentityError) return error.message
    throw error
  }
}
