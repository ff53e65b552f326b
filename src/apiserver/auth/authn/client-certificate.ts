/** A certificate of the client CA: the common name is the user, the organizations are the groups. */
import { type Certificate, parseCertificate } from '../../../identity/certificate.ts'
import { attributeValues, commonName } from '../../../identity/distinguished-name.ts'
import { IdentityError } from '../../../identity/errors.ts'
import { verifyCertificate } from '../../../identity/verify.ts'
import type { Clock } from '../../../telemetry/clock.ts'
import type { Exchange, Peer } from '../../serving/exchange.ts'
import type { Authentication, Authenticator } from '../authenticator.ts'

export class CertificateAuthenticator implements Authenticator {
  readonly #clock: Clock
  readonly #trust: () => readonly Certificate[]

  /** `trust` is asked anew each time, since bundles are reloaded. */
  constructor(clock: Clock, trust: () => readonly Certificate[]) {
    this.#clock = clock
    this.#trust = trust
  }

  authenticate({ peer }: Exchange): Promise<Authentication> {
    return Promise.resolve(this.#judge(peer))
  }

  #judge(peer: Peer): Authentication {
    const chain = parsedChain(peer)
    if (chain === 'absent') return { outcome: 'absent' }
    if (chain === 'unreadable') return { outcome: 'wrong', reason: 'the client certificate cannot be read' }
    const [certificate, ...intermediates] = chain
    const options = { trust: this.#trust(), intermediates, usage: 'clientAuth', atMs: this.#clock.nowMs() } as const
    const verified = verifyCertificate(certificate, { ...options, ifUsageAbsent: 'accept' })
    // A certificate of another CA may still mean something to another authenticator.
    if (!verified.ok) return { outcome: 'wrong', reason: verified.message }
    const name = commonName(certificate.subject)
    if (name === undefined || name === '')
      return { outcome: 'wrong', reason: 'the client certificate has no common name' }
    const groups = attributeValues(certificate.subject, 'O')
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] }
    return { outcome: 'known', user: { name, uid: '', groups, extra } }
  }
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
