/** Answers TokenReviews: whose token is this, and is it for me? */
import type { KubeObject } from '../../../kube/objects.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { AUTHENTICATED_GROUP, type UserInfo } from '../../request/user.ts'
import type { TokenAuthentication, TokenAuthenticator } from './token-authenticator.ts'
import { whyNot } from './union-tokens.ts'

export interface TokenReview extends KubeObject {
  readonly spec?: { readonly token?: string; readonly audiences?: readonly string[] }
}

/** An answer is the review with its status; a token that is no good is an answer too. */
export async function reviewToken(
  review: TokenReview,
  tokens: TokenAuthenticator,
  apiAudiences: readonly string[],
): Promise<KubeObject> {
  const { token = '', audiences = [] } = review.spec ?? {}
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const answer = await tokens.authenticateToken(token, audiences.length === 0 ? apiAudiences : audiences)
  const { namespace: _namespace, ...metadata } = review.metadata ?? {}
  return { ...review, metadata, status: statusOf(answer) }
}

function statusOf(answer: TokenAuthentication): object {
  if (answer.outcome !== 'known') return { user: {}, error: whyNot(answer) }
  return { authenticated: true, user: userFields(answer.user), audiences: answer.audiences }
}

function userFields({ name, uid, groups, extra }: UserInfo): object {
  const allGroups = groups.includes(AUTHENTICATED_GROUP) ? groups : [...groups, AUTHENTICATED_GROUP]
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    groups: allGroups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}
