/**
 * Lets a caller act as somebody else, if the policy allows it to impersonate each part of that identity. The answer is what
 * the other would get; the log keeps who really asked.
 */

import { badRequest } from '../../kube/status/index.ts'
import type { RequestHeaders } from '../../serving/exchange.ts'
import { readExtra } from '../auth/authn/extra-headers.ts'
import { type Authorizer, allow, type ResourceAttributes } from '../auth/authorizer.ts'
import { serviceAccountGroups, serviceAccountOf } from '../auth/tokens/service-account-user.ts'
import { ANONYMOUS_USER, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, type UserInfo } from '../auth/user.ts'
import type { Filter } from './handler.ts'

const extraPrefix = 'impersonate-extra-'

interface Part {
  readonly apiGroup: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name: string
}

export function withImpersonation(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    const wanted = readWanted(context.exchange.headers)
    if (wanted !== undefined) {
      for (const part of partsOf(wanted)) allow(authorizer, attributesOf(context.user, part))
      context.impersonator = context.user
      context.user = withGroups(wanted)
      for (const name of [...context.exchange.headers.names()]) {
        if (name.startsWith('impersonate-')) context.exchange.headers.remove(name)
      }
    }
    await next(context)
  }
}

function readWanted(headers: RequestHeaders): UserInfo | undefined {
  const name = headers.get('impersonate-user') ?? ''
  const uid = headers.get('impersonate-uid') ?? ''
  const groups = headers.all('impersonate-group')
  const extra = readExtra(headers, extraPrefix)
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && Object.keys(extra).length === 0) return undefined
  throw badRequest(`requested ${JSON.stringify([...groups, ...Object.keys(extra)])} without impersonating a user name`)
}

/** Each part of the identity is a resource of its own that the caller must be allowed to impersonate. */
function* partsOf({ name, uid, groups, extra }: UserInfo): Generator<Part> {
  const account = serviceAccountOf(name)
  if (account === undefined) yield { apiGroup: '', resource: 'users', name }
  else yield { apiGroup: '', resource: 'serviceaccounts', ...account }
  for (const group of groups) yield { apiGroup: '', resource: 'groups', name: group }
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values)
      yield { apiGroup: 'authentication.k8s.io', resource: 'userextras', subresource: key, name: value }
  }
  if (uid !== '') yield { apiGroup: 'authentication.k8s.io', resource: 'uids', name: uid }
}

function attributesOf(user: UserInfo, part: Part): ResourceAttributes {
  return {
    kind: 'resource',
    user,
    verb: 'impersonate',
    apiVersion: part.apiGroup === '' ? '' : 'v1',
    subresource: '',
    namespace: '',
    fieldSelector: '',
    labelSelector: '',
    ...part,
  }
}

/** Groups that a real login would have brought along. */
function withGroups(user: UserInfo): UserInfo {
  const groups = [...user.groups]
  const account = serviceAccountOf(user.name)
  if (groups.length === 0 && account !== undefined) groups.push(...serviceAccountGroups(account.namespace))
  if (groups.includes(UNAUTHENTICATED_GROUP)) return { ...user, groups }
  const isAnonymous = user.name === ANONYMOUS_USER
  if (isAnonymous || !groups.includes(AUTHENTICATED_GROUP))
    groups.push(isAnonymous ? UNAUTHENTICATED_GROUP : AUTHENTICATED_GROUP)
  return { ...user, groups }
}
