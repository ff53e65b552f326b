import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { UserInfo } from '../../request/user.ts'
import { type Binding, nameOf, type Subject } from './objects.ts'
import { RbacView } from './view.ts'

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' }

/** The rule of the documentation, read off subject by subject. */
function isUser(subject: Subject, user: UserInfo, bindingNamespace: string): boolean {
  if (subject.kind === 'User') return subject.name === user.name
  if (subject.kind === 'Group') return user.groups.includes(subject.name)
  if (subject.kind !== 'ServiceAccount') return false
  const namespace = subject.namespace ?? bindingNamespace
  return namespace !== '' && user.name === `system:serviceaccount:${namespace}:${subject.name}`
}

const name = fc.constantFrom('a', 'b', 'c')
const namespace = fc.constantFrom('', 'x', 'y')

const subjects = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('User', 'Group', 'Robot'), name }),
    fc.record({ kind: fc.constant('ServiceAccount'), name }),
    fc.record({ kind: fc.constant('ServiceAccount'), name, namespace: fc.constantFrom('x', 'y') }),
    fc.constant({ kind: 'User', name: 'system:serviceaccount:x:a' }),
  ),
  { maxLength: 4 },
)

const users = fc.record({
  name: fc.constantFrom('a', 'b', 'system:serviceaccount:x:a', 'system:serviceaccount:y:b', 'system:serviceaccount::a'),
  uid: fc.constant(''),
  groups: fc.subarray(['a', 'b', 'c']),
  extra: fc.constant({}),
})

const steps = fc.array(fc.record({ action: fc.constantFrom('put', 'put', 'remove'), name, namespace, subjects }))

it('finds the bindings of a user, whatever was put and removed before', () => {
  fc.assert(
    fc.property(steps, users, (script, user) => {
      const view = new RbacView()
      const expected = new Map<string, Binding>()
      for (const step of script) {
        const resource = step.namespace === '' ? 'clusterrolebindings' : 'rolebindings'
        const metadata = { name: step.name, ...(step.namespace === '' ? {} : { namespace: step.namespace }) }
        const binding: Binding = { metadata, subjects: step.subjects, roleRef }
        const key = `${step.namespace}/${step.name}`
        if (step.action === 'put') {
          view.put(resource, binding)
          expected.set(key, binding)
        } else {
          view.remove(resource, step.namespace, step.name)
          expected.delete(key)
        }
      }
      for (const scope of ['', 'x', 'y']) {
        const found = scope === '' ? view.clusterRoleBindingsOf(user) : view.roleBindingsOf(user, scope)
        const wanted = [...expected].filter(
          ([key, { subjects: all = [] }]) =>
            key.startsWith(`${scope}/`) && all.some((subject) => isUser(subject, user, scope)),
        )
        expect([...found].map(nameOf).toSorted()).toEqual(wanted.map(([, binding]) => nameOf(binding)).toSorted())
      }
    }),
  )
})

it('keeps roles of the same name in different places apart', () => {
  const view = new RbacView()
  view.put('clusterroles', { metadata: { name: 'r' }, rules: [] })
  view.put('roles', { metadata: { name: 'r', namespace: 'x' }, rules: [{ verbs: ['get'] }] })
  expect(view.role('y', 'r')).toBeUndefined()
  expect(view.role('x', 'r')?.rules).toEqual([{ verbs: ['get'] }])
  view.remove('roles', 'x', 'r')
  expect(view.role('x', 'r')).toBeUndefined()
  expect([...view.clusterRoles()].map(nameOf)).toEqual(['r'])
  view.remove('clusterroles', '', 'r')
  expect(view.clusterRole('r')).toBeUndefined()
})
