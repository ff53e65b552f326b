import { describe, expect, it } from 'vitest'
import type { Attributes } from '../request/authorizer.ts'
import { anonymousUser, MASTERS_GROUP, type UserInfo } from '../request/user.ts'
import type { AuthorizationMode } from './mode-names.ts'
import { allowsAnonymous, standardAuthorizer } from './modes.ts'
import { NodeGraph } from './node/graph.ts'
import { RbacView } from './rbac/view.ts'

const bob: UserInfo = { name: 'bob', uid: '', groups: [], extra: {} }

function asking(user = bob): Attributes {
  return { kind: 'non-resource', user, verb: 'get', path: '/x' }
}

function authorizer(...modes: AuthorizationMode[]) {
  return standardAuthorizer({ graph: new NodeGraph(), source: new RbacView(), modes })
}

describe('the authorization modes', () => {
  it.each<[AuthorizationMode[], 'allow' | 'no-opinion', string]>([
    [['Node', 'RBAC'], 'no-opinion', ''],
    [['RBAC', 'AlwaysAllow'], 'allow', ''],
    [['AlwaysDeny'], 'no-opinion', 'Everything is forbidden.'],
    [['AlwaysDeny', 'AlwaysAllow'], 'allow', ''],
  ])('%j on an empty policy: %s', (modes, verdict, reason) => {
    expect(authorizer(...modes).authorize(asking())).toEqual({ verdict, reason })
  })

  it('let masters in, whatever the mode', () => {
    const master = { ...anonymousUser, groups: [MASTERS_GROUP] }
    expect(authorizer('AlwaysDeny').authorize(asking(master)).verdict).toBe('allow')
  })

  it('list the rules of those that have some', () => {
    const all = { verbs: ['*'], nonResourceURLs: ['*'] }
    expect(authorizer('AlwaysAllow').rulesFor(bob, 'n').rules).toContainEqual(all)
    expect(authorizer('AlwaysDeny').rulesFor(bob, 'n').rules).toEqual([])
  })

  it('take no anonymous callers where everybody may do anything', () => {
    expect(allowsAnonymous(['Node', 'RBAC'])).toBe(true)
    expect(allowsAnonymous(['RBAC', 'AlwaysAllow'])).toBe(false)
  })
})
