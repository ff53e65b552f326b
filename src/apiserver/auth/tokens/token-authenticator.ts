/** Whoever can tell the owner of a bearer token. */
import type { UserInfo } from '../../request/user.ts'

export type TokenAuthentication =
  /** `audiences` are those of the asked ones that the token is for; never empty. */
  | { readonly outcome: 'known'; readonly user: UserInfo; readonly audiences: readonly string[] }
  /** Not a token of this authenticator: another one may know it. */
  | { readonly outcome: 'absent' }
  /** A token of this authenticator that is no good. A TokenReview tells the reasons, a request's answer never does. */
  | { readonly outcome: 'wrong'; readonly reasons: readonly string[] }

export interface TokenAuthenticator {
  authenticateToken(token: string, audiences: readonly string[]): Promise<TokenAuthentication>
}

/** The asked audiences that are among the offered ones, in the order in which they were asked for. */
export function commonAudiences(offered: readonly string[], asked: readonly string[]): string[] {
  return asked.filter((audience) => offered.includes(audience))
}
