/**
 * Lets a caller act as somebody else, if the policy allows it to impersonate each part of that identity. The answer is what
 * the other would get; the log keeps who really asked.
 */

import { accessDenied, badRequest } from '../../kube/status/index.ts'
import type { RequestHeaders } from '../../serving/exchange.ts'
import { decodeHeaderKey } from '../auth/authn/header-key.ts'
import type { Authorizer, ResourceAttributes } from '../auth/authorizer.ts'
import { ANONYMOUS_USER, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, type UserInfo } from '../auth/user.ts'
import type { Filter } from './handler.ts'

const extraPrefix = 'impersonate-extra-'
const serviceAccountPrefix = 'system:serviceaccount:'

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
      for (const part of partsOf(wanted)) allow(authorizer, context.user, part)
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
  const extra: Record<string, readonly string[]> = {}
  for (const header of headers.names()) {
    if (header.startsWith(extraPrefix)) extra[decodeHeaderKey(header.slice(extraPrefix.length))] = headers.all(header)
  }
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && Object.keys(extra).length === 0) return undefined
  throw badRequest(`requested ${JSON.stringify([...groups, ...Object.keys(extra)])} without impersonating a user name`)
}

/** Each part of the identity is a resource of its own that the caller must be allowed to impersonate. */
function* partsOf({ name, uid, groups, extra }: UserInfo): Generator<Part> {
  const [namespace, account] = name.startsWith(serviceAccountPrefix)
    ? name.slice(serviceAccountPrefix.length).split(':')
    : []
  if (namespace !== undefined && account !== undefined) {
    yield { apiGroup: '', resource: 'serviceaccounts', namespace, name: account }
  } else {
    yield { apiGroup: '', resource: 'users', name }
  }
  for (const group of groups) yield { apiGroup: '', resource: 'groups', name: group }
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values)
      yield { apiGroup: 'authentication.k8s.io', resource: 'userextras', subresource: key, name: value }
  }
  if (uid !== '') yield { apiGroup: 'authentication.k8s.io', resource: 'uids', name: uid }
}

function allow(authorizer: Authorizer, user: UserInfo, part: Part): void {
  const attributes: ResourceAttributes = {
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
  const { verdict, reason } = authorizer.authorize(attributes)
  if (verdict !== 'allow') throw accessDenied(user.name, attributes, reason)
}

/** Groups that a real login would have brought along. */
function withGroups(user: UserInfo): UserInfo {
  const groups = [...user.groups]
  if (groups.length === 0 && user.name.startsWith(serviceAccountPrefix)) {
    const namespace = user.name.slice(serviceAccountPrefix.length).split(':')[0]
    groups.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`)
  }
  const isJudged = groups.includes(AUTHENTICATED_GROUP) || groups.includes(UNAUTHENTICATED_GROUP)
  if (!isJudged) groups.push(user.name === ANONYMOUS_USER ? UNAUTHENTICATED_GROUP : AUTHENTICATED_GROUP)
  return { ...user, groups }
}
