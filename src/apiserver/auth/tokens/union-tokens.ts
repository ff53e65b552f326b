/**
 * All token authenticators as one, and that one in front of requests. A token may belong to any of them: the first that
 * knows its owner decides, and a token that nobody knows is wrong, never absent.
 */
import type { Exchange } from '../../../http/server/exchange.ts'
import { joinErrors } from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import type { Authentication, Authenticator } from '../authenticator.ts'
import { bearerToken } from '../authn/bearer-token.ts'
import { commonAudiences, type TokenAuthentication, type TokenAuthenticator } from './token-authenticator.ts'

const INVALID_BEARER_TOKEN = 'invalid bearer token'

export class UnionTokenAuthenticator implements TokenAuthenticator {
  readonly #authenticators: readonly TokenAuthenticator[]

  constructor(authenticators: readonly TokenAuthenticator[]) {
    this.#authenticators = authenticators
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenAuthentication> {
    const reasons: string[] = []
    for (const authenticator of this.#authenticators) {
      const answer = await authenticator.authenticateToken(token, audiences)
      if (answer.outcome === 'known') return answer
      if (answer.outcome === 'wrong') reasons.push(...answer.reasons)
    }
    return reasons.length === 0 ? { outcome: 'absent' } : { outcome: 'wrong', reasons }
  }
}

/** For tokens that say nothing of an audience: they are for the API server. */
export class ApiTokenAuthenticator implements TokenAuthenticator {
  readonly #userOf: (token: string) => UserInfo | undefined
  readonly #apiAudiences: readonly string[]

  constructor(userOf: (token: string) => UserInfo | undefined, apiAudiences: readonly string[]) {
    this.#userOf = userOf
    this.#apiAudiences = apiAudiences
  }

  authenticateToken(token: string, asked: readonly string[]): Promise<TokenAuthentication> {
    const audiences = commonAudiences(this.#apiAudiences, asked)
    const user = audiences.length === 0 ? undefined : this.#userOf(token)
    return Promise.resolve(user === undefined ? { outcome: 'absent' } : { outcome: 'known', user, audiences })
  }
}

/** Takes the token out of a request. */
export class BearerAuthenticator implements Authenticator {
  readonly #tokens: TokenAuthenticator
  readonly #apiAudiences: readonly string[]

  constructor(tokens: TokenAuthenticator, apiAudiences: readonly string[]) {
    this.#tokens = tokens
    this.#apiAudiences = apiAudiences
  }

  async authenticate({ headers }: Exchange): Promise<Authentication> {
    const token = bearerToken(headers)
    if (token === undefined) return { outcome: 'absent' }
    const answer = await this.#tokens.authenticateToken(token, this.#apiAudiences)
    if (answer.outcome === 'known') return { outcome: 'known', user: answer.user }
    return { outcome: 'wrong', reason: whyNot(answer) }
  }
}

/** One text for a token that got nobody in. */
export function whyNot(answer: Exclude<TokenAuthentication, { outcome: 'known' }>): string {
  return joinErrors([INVALID_BEARER_TOKEN, ...(answer.outcome === 'wrong' ? answer.reasons : [])])
}
