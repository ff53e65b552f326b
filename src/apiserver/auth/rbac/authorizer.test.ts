import { expect, it } from 'vitest'
import type { Attributes } from '../authorizer.ts'
import type { UserInfo } from '../user.ts'
import { RbacAuthorizer } from './authorizer.ts'
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
