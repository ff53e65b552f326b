import { describe, expect, it } from 'vitest'
import type { Attributes } from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import { LISTED_VALUE_CHARACTERS, MAX_LISTED_CHARACTERS, MAX_TOLD_ROLES, RbacAuthorizer } from './authorizer.ts'
import { MAX_COMPARISONS_OF_REQUEST } from './comparisons.ts'
import { RbacView } from './view.ts'

function ref(kind: string, name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind, name }
}

const view = new RbacView()
view.put('clusterroles', {
  metadata: { name: 'pods' },
  rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
})
view.put('roles', {
  metadata: { name: 'pods', namespace: 'a' },
  rules: [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }],
})
view.put('clusterrolebindings', {
  metadata: { name: 'everywhere' },
  subjects: [
    { kind: 'Group', name: 'none' },
    { kind: 'Group', name: 'ops' },
    { kind: 'User', name: 'ann' },
  ],
  roleRef: ref('ClusterRole', 'pods'),
})
view.put('rolebindings', {
  metadata: { name: 'here', namespace: 'a' },
  subjects: [
    { kind: 'ServiceAccount', name: 'bot' },
    { kind: 'User', name: 'bea' },
  ],
  roleRef: ref('Role', 'pods'),
})
view.put('rolebindings', {
  metadata: { name: 'broken', namespace: 'a' },
  subjects: [{ kind: 'User', name: 'bea' }],
  roleRef: ref('Role', 'gone'),
})
view.put('clusterrolebindings', {
  metadata: { name: 'broken' },
  subjects: [{ kind: 'User', name: 'bea' }],
  roleRef: ref('ClusterRole', 'gone'),
})
view.put('clusterrolebindings', {
  metadata: { name: 'odd' },
  subjects: [{ kind: 'User', name: 'odd' }],
  roleRef: ref('Rôle', 'x'),
})

const authorizer = new RbacAuthorizer(view)

function user(name: string, groups: readonly string[] = []): UserInfo {
  return { name, uid: '', groups, extra: {} }
}

function ask(who: UserInfo, verb: string, namespace: string): Attributes {
  const names = { namespace, apiGroup: '', apiVersion: 'v1', resource: 'pods', subresource: '', name: '' }
  return { kind: 'resource', user: who, verb, ...names, fieldSelector: '', labelSelector: '' }
}

const missing =
  '[clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]'

it.each<[UserInfo, string, string, boolean, string]>([
  [user('ann'), 'get', '', true, 'ClusterRoleBinding "everywhere" of ClusterRole "pods" to User "ann"'],
  [user('ann', ['ops']), 'get', 'b', true, 'ClusterRoleBinding "everywhere" of ClusterRole "pods" to Group "ops"'],
  [user('bea'), 'list', 'a', true, 'RoleBinding "here/a" of Role "pods" to User "bea"'],
  [
    user('system:serviceaccount:a:bot'),
    'list',
    'a',
    true,
    'RoleBinding "here/a" of Role "pods" to ServiceAccount "bot/a"',
  ],
  [user('system:serviceaccount:b:bot'), 'list', 'a', false, ''],
  [user('ann'), 'list', 'a', false, ''],
  [user('bea'), 'get', 'a', false, missing],
  [user('bea'), 'list', '', false, 'clusterrole.rbac.authorization.k8s.io "gone" not found'],
  [user('odd'), 'list', '', false, 'unsupported role reference kind: "Rôle"'],
])('%j to %s in %j: %s', (who, verb, namespace, allowed, reason) => {
  const text = allowed ? `RBAC: allowed by ${reason}` : reason === '' ? '' : `RBAC: ${reason}`
  expect(authorizer.authorize(ask(who, verb, namespace))).toEqual({
    verdict: allowed ? 'allow' : 'no-opinion',
    reason: text,
  })
})

it('decides on paths by cluster-wide bindings alone', () => {
  view.put('clusterroles', { metadata: { name: 'paths' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/a*'] }] })
  view.put('clusterrolebindings', {
    metadata: { name: 'paths' },
    subjects: [{ kind: 'User', name: 'pat' }],
    roleRef: ref('ClusterRole', 'paths'),
  })
  expect(authorizer.authorize({ kind: 'non-resource', user: user('pat'), verb: 'get', path: '/ab' }).verdict).toBe(
    'allow',
  )
  expect(authorizer.authorize({ kind: 'non-resource', user: user('pat'), verb: 'get', path: '/b' }).verdict).toBe(
    'no-opinion',
  )
})

it('lists rules and says which roles are missing', () => {
  expect(authorizer.rulesFor(user('bea', ['ops']), 'a')).toEqual({
    rules: [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['list'], apiGroups: [''], resources: ['pods'] },
    ],
    incomplete: false,
    errors: [
      'clusterrole.rbac.authorization.k8s.io "gone" not found',
      'role.rbac.authorization.k8s.io "gone" not found',
    ],
  })
})

describe('for somebody with more than anybody needs', () => {
  const subjects = [{ kind: 'User', name: 'max' }]
  const bind = (to: RbacView, count: number, role: (index: number) => string): void => {
    for (let index = 0; index < count; index++) {
      to.put('clusterrolebindings', {
        metadata: { name: `b${index}` },
        subjects,
        roleRef: ref('ClusterRole', role(index)),
      })
    }
  }
  const getPods = {
    kind: 'resource' as const,
    verb: 'get',
    namespace: '',
    apiGroup: '',
    apiVersion: 'v1',
    resource: 'pods',
  }
  const asked = {
    ...getPods,
    user: user('max'),
    subresource: '',
    name: 'x',
    fieldSelector: '',
    labelSelector: '',
  } as const

  it('a decision comes to an end, and says so', () => {
    const full = new RbacView()
    const rules = Array.from({ length: MAX_COMPARISONS_OF_REQUEST }, () => ({
      verbs: ['list'],
      apiGroups: [''],
      resources: ['pods'],
    }))
    full.put('clusterroles', { metadata: { name: 'full' }, rules })
    bind(full, 1, () => 'full')
    expect(new RbacAuthorizer(full).authorize(asked)).toEqual({
      verdict: 'no-opinion',
      reason: 'RBAC: the user has too many bindings and rules: more than 100000 comparisons',
    })
  })

  it('a few of the missing roles are named', () => {
    const lost = new RbacView()
    bind(lost, 2 * MAX_TOLD_ROLES, (index) => `gone-${index}`)
    const { reason } = new RbacAuthorizer(lost).authorize(asked)
    expect(reason.match(/not found/g)).toHaveLength(MAX_TOLD_ROLES)
    expect(new RbacAuthorizer(lost).rulesFor(asked.user, '').errors).toHaveLength(MAX_TOLD_ROLES)
  })

  it('a listing is as long as can be read', () => {
    const wide = new RbacView()
    const rule = { verbs: ['get'], apiGroups: [''], resources: ['x'.repeat(1_000)] }
    wide.put('clusterroles', { metadata: { name: 'wide' }, rules: Array.from({ length: 1_000 }, () => rule) })
    bind(wide, 1, () => 'wide')
    const listing = new RbacAuthorizer(wide).rulesFor(asked.user, '')
    expect(listing.incomplete).toBe(true)
    expect(listing.rules).toHaveLength(Math.floor(MAX_LISTED_CHARACTERS / (1_003 + 3 * LISTED_VALUE_CHARACTERS)))
  })
})
