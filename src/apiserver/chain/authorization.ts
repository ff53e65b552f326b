/** Asks whether the caller may do what the request says; whoever gets past this filter may. */

import type { RequestInfo } from '../../kube/request-info.ts'
import { accessDenied } from '../../kube/status/access-denied.ts'
import type { Attributes, Authorizer, Decision } from '../request/authorizer.ts'
import type { Filter } from '../request/handler.ts'
import type { UserInfo } from '../request/user.ts'

export interface AuthorizationOptions {
  readonly authorizer: Authorizer
  /** Hears every decision. */
  readonly decided: (verdict: Decision['verdict']) => void
}

export function withAuthorization({ authorizer, decided }: AuthorizationOptions): Filter {
  return (next) => async (context) => {
    const { user, info } = context
    const decision = authorizer.authorize(attributesOf(user, info))
    context.decision = decision
    decided(decision.verdict)
    if (decision.verdict !== 'allow') {
      context.responseHeaders['x-content-type-options'] = 'nosniff'
      throw accessDenied(user.name, info, decision.reason)
    }
    await next(context)
  }
}

function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  return { user, ...info }
}
