/** Bearer tokens of ServiceAccounts. A good signature is not enough: all that they speak of is looked at each time. */

import { readClaims, type TokenClaims } from '../../../identity/service-account/claims.ts'
import { RefusedTokenError } from '../../../identity/service-account/refused-token.ts'
import { serviceAccountUser } from '../../../identity/service-account/user.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { FindObject } from './find-object.ts'
import { JwtAuthenticator, type JwtAuthenticatorOptions } from './jwt-authenticator.ts'
import { checkLiveObjects, LEEWAY_MS } from './live-objects.ts'
import type { TokenAuthenticator } from './token-authenticator.ts'

export interface ServiceAccountTokenOptions extends Omit<JwtAuthenticatorOptions, 'userOf'> {
  readonly find: FindObject
  readonly clock: Clock
}

export function serviceAccountTokens(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { keys, issuer, apiAudiences, find, clock } = options
  return new JwtAuthenticator({
    keys,
    issuer,
    apiAudiences,
    async userOf(payload) {
      const claims = readClaims(payload)
      const nowMs = clock.nowMs()
      checkTimes(claims, nowMs)
      await checkLiveObjects(claims.kubernetes, find, nowMs)
      const { namespace, serviceAccount, pod, node } = claims.kubernetes
      return serviceAccountUser({ namespace, serviceAccount, bound: { pod, node }, tokenId: claims.id })
    },
  })
}

function checkTimes({ notBeforeSeconds, expiresAtSeconds, issuedAtSeconds }: TokenClaims, nowMs: number): void {
  const isAhead = (seconds = 0): boolean => nowMs + LEEWAY_MS < seconds * 1000
  if (isAhead(notBeforeSeconds)) throw new RefusedTokenError('service account token is not valid yet')
  if (expiresAtSeconds !== undefined && nowMs - LEEWAY_MS > expiresAtSeconds * 1000) {
    throw new RefusedTokenError('service account token has expired')
  }
  if (isAhead(issuedAtSeconds)) throw new RefusedTokenError('service account token is issued in the future')
}
