/**
 * Identities in headers, believed only from a front proxy: a client whose certificate comes from the front-proxy CA and
 * has one of the allowed names. From anybody else the headers mean nothing.
 */

import type { Exchange, RequestHeaders } from '../../../http/server/exchange.ts'
import type { Certificate } from '../../../identity/certificate.ts'
import { commonName } from '../../../identity/distinguished-name.ts'
import { verifyCertificate } from '../../../identity/verify.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { UserInfo } from '../../request/user.ts'
import type { Authentication, Authenticator } from '../authenticator.ts'
import { presentedBy } from './client-certificate.ts'
import { readExtra } from './extra-headers.ts'
import { allTexts, firstText } from './header-text.ts'

const extraPrefix = 'x-remote-extra-'

export interface RequestHeaderOptions {
  readonly clock: Clock
  trust(): readonly Certificate[]
  /** Empty means any name. */
  readonly allowedNames: readonly string[]
}

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #options: RequestHeaderOptions

  constructor(options: RequestHeaderOptions) {
    this.#options = options
  }

  authenticate(exchange: Exchange): Promise<Authentication> {
    const user = readUser(exchange.headers)
    return Promise.resolve(
      user === undefined || !this.#isFrontProxy(exchange) ? { outcome: 'absent' } : { outcome: 'known', user },
    )
  }

  #isFrontProxy({ peer }: Exchange): boolean {
    const presented = presentedBy(peer)
    if (presented === undefined || typeof presented === 'string') return false
    const { certificate, intermediates } = presented
    const { clock, allowedNames } = this.#options
    const verified = verifyCertificate(certificate, {
      trust: this.#options.trust(),
      intermediates,
      usage: 'clientAuth',
      atMs: clock.nowMs(),
    })
    return verified.ok && (allowedNames.length === 0 || allowedNames.includes(commonName(certificate.subject) ?? ''))
  }
}

function readUser(headers: RequestHeaders): UserInfo | undefined {
  const name = firstText(headers, 'x-remote-user')
  if (name === '') return undefined
  const extra = readExtra(headers, extraPrefix)
  return { name, uid: firstText(headers, 'x-remote-uid'), groups: allTexts(headers, 'x-remote-group'), extra }
}
