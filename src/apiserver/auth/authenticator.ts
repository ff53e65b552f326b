/** One way of proving who calls. */
import type { Exchange } from '../../http/server/exchange.ts'
import type { UserInfo } from '../request/user.ts'

export type Authentication =
  | { readonly outcome: 'known'; readonly user: UserInfo }
  /** The request has nothing for this authenticator. */
  | { readonly outcome: 'absent' }
  /** The request has something for this authenticator, and it is no good. `reason` is for the log, never for the client. */
  | { readonly outcome: 'wrong'; readonly reason: string }

export interface Authenticator {
  authenticate(exchange: Exchange): Promise<Authentication>
}
