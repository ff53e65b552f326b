import { expect, it } from 'vitest'
import type { Attributes } from '../../request/authorizer.ts'
import { anonymousUser, type UserInfo } from '../../request/user.ts'
import { NodeAuthorizer } from './authorizer.ts'
import { NodeGraph } from './graph.ts'

const graph = new NodeGraph()
graph.put('pods', {
  metadata: { name: 'p', namespace: 'x' },
  spec: { nodeName: 'n1', serviceAccountName: 'sa', imagePullSecrets: [{ name: 's' }] },
})
const authorizer = new NodeAuthorizer(graph)
const n1: UserInfo = { name: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} }

/** `verb resource[.group][/subresource] [namespace] [name] [fieldSelector]`, with `-` for nothing. */
function ask(text: string, user: UserInfo): Attributes {
  const [verb = '', what = '', ...rest] = text.split(' ')
  if (what.startsWith('/')) return { kind: 'non-resource', user, verb, path: what }
  const [namespace = '', name = '', fieldSelector = ''] = rest.map((word) => (word === '-' ? '' : word))
  const [full = '', subresource = ''] = what.split('/')
  const [resource = '', ...group] = full.split('.')
  const names = { apiGroup: group.join('.'), apiVersion: 'v1', resource, subresource, namespace, name }
  return { kind: 'resource', user, verb, ...names, fieldSelector, labelSelector: '' }
}

const unrelated = "no relationship found between node 'n1' and this object"

it.each<[string, boolean, string]>([
  ['get secrets x s', true, ''],
  ['watch secrets x s', true, ''],
  ['get secrets x t', false, unrelated],
  ['list secrets x', false, 'No Object name found'],
  ['update secrets x s', false, 'can only read resources of this type'],
  ['get serviceaccounts x sa', true, ''],
  ['create serviceaccounts/token x sa', true, ''],
  ['create serviceaccounts/token x other', false, unrelated],
  ['list pods - - spec.nodeName=n1', true, ''],
  ['list pods - - spec.nodeName=n2', false, 'can only list/watch pods with spec.nodeName field selector'],
  ['list pods - - spec.nodeName', false, 'can only list/watch pods with spec.nodeName field selector'],
  ['get nodes - n1', true, ''],
  ['get nodes - n2', false, "node 'n1' cannot read 'n2', only its own Node object"],
  ['list nodes', false, "node 'n1' cannot read all nodes, only its own Node object"],
  ['delete nodes - n1', false, ''],
  ['update leases.coordination.k8s.io kube-node-lease n1', true, ''],
  [
    'update leases.coordination.k8s.io kube-system n1',
    false,
    'can only access leases in the "kube-node-lease" system namespace',
  ],
  ['create certificatesigningrequests.certificates.k8s.io', true, ''],
  ['create certificatesigningrequests.certificates.k8s.io/approval', false, ''],
  ['list secrets.example.com x', false, ''],
  ['get /healthz', false, ''],
])('%s: %s', (text, allowed, reason) => {
  expect(authorizer.authorize(ask(text, n1))).toEqual({ verdict: allowed ? 'allow' : 'no-opinion', reason })
})

it('knows nodes by name and group together', () => {
  for (const user of [{ ...n1, groups: [] }, { ...n1, name: 'n1' }, anonymousUser]) {
    expect(authorizer.authorize(ask('get nodes - n1', user))).toEqual({ verdict: 'no-opinion', reason: '' })
    expect(authorizer.rulesFor(user)).toEqual({ rules: [], incomplete: false, errors: [] })
  }
  expect(authorizer.authorize(ask('get nodes - n1', { ...n1, name: 'system:node:' })).reason).toBe(
    'unknown node for user "system:node:"',
  )
  expect(authorizer.rulesFor(n1)).toMatchObject({
    incomplete: true,
    errors: [expect.stringContaining('node authorizer')],
  })
})
