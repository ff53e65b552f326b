/**
 * Finds out who is calling. Authenticators are asked in order; the first one that knows the caller decides. A credential
 * that is offered and wrong is a 401, never anonymous; no credential at all is `system:anonymous`.
 */

import { unauthorized } from '../../kube/status/request-errors.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Filter, RequestContext } from '../request/handler.ts'
import { AUTHENTICATED_GROUP, anonymousUser, type UserInfo } from '../request/user.ts'

export interface AuthenticationOptions {
  readonly authenticators: readonly Authenticator[]
  readonly allowAnonymous: boolean
  /** Hears how each attempt ended. */
  readonly attempted: (result: 'success' | 'failure' | 'error', userName?: string) => void
}

/** Credentials and claims of identity: of no use to anything after this filter, and a danger if they leak further. */
const spentHeaders = ['authorization', 'x-remote-user', 'x-remote-group', 'x-remote-uid']

export function withAuthentication(options: AuthenticationOptions): Filter {
  return (next) => async (context) => {
    context.user = await identify(context, options)
    // Checks of tokens end on other threads, many of them in one turn, in which all of their requests would go on.
    await context.turn()
    options.attempted('success', context.user.name)
    for (const name of [...context.exchange.headers.names()]) {
      if (spentHeaders.includes(name) || name.startsWith('x-remote-extra-')) context.exchange.headers.remove(name)
    }
    await next(context)
  }
}

async function identify(context: RequestContext, options: AuthenticationOptions): Promise<UserInfo> {
  let wasWrong = false
  for (const authenticator of options.authenticators) {
    const answer = await authenticator.authenticate(context.exchange)
    if (answer.outcome === 'known') return withAuthenticatedGroup(answer.user)
    if (answer.outcome === 'wrong') wasWrong = true
  }
  if (!wasWrong && options.allowAnonymous) return anonymousUser
  options.attempted(wasWrong ? 'error' : 'failure')
  throw unauthorized('Unauthorized')
}

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  return user.groups.includes(AUTHENTICATED_GROUP) ? user : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] }
}
