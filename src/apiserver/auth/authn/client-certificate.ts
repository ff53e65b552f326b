/** A certificate of the client CA: the common name is the user, the organizations are the groups. */

import type { Exchange, Peer } from '../../../http/server/exchange.ts'
import { type Certificate, parseCertificate } from '../../../identity/certificate.ts'
import { attributeValues, commonName } from '../../../identity/distinguished-name.ts'
import { IdentityError } from '../../../identity/errors.ts'
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
    const chain = parsedChain(peer)
    if (chain === 'absent') return { outcome: 'absent' }
    if (chain === 'unreadable') return { outcome: 'wrong', reason: 'the client certificate cannot be read' }
    const [certificate, ...intermediates] = chain
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

type ParsedChain = readonly [Certificate, ...Certificate[]] | 'absent' | 'unreadable'

/** Certificates are parsed once per connection. */
const parsed = new WeakMap<Peer, ParsedChain>()

export function parsedChain(peer: Peer): ParsedChain {
  let chain = parsed.get(peer)
  if (chain === undefined) {
    chain = parseChain(peer)
    parsed.set(peer, chain)
  }
  return chain
}

function parseChain({ certificates }: Peer): ParsedChain {
  const [first, ...rest] = certificates
  if (first === undefined) return 'absent'
  try {
    return [parseCertificate(first), ...rest.map((der) => parseCertificate(der))]
  } catch (error) {
    if (error instanceof IdentityError) return 'unreadable'
    throw error
  }
}
