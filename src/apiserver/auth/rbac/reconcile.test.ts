import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/objects.ts'
import { defaultPolicy, type PolicyEntry } from './bootstrap-policy.ts'
import { AUTO_UPDATE_ANNOTATION } from './bootstrap-rules.ts'
import type { Binding, ClusterRole } from './objects.ts'
import { type PolicyChange, reconcile } from './reconcile.ts'

const role: ClusterRole = {
  metadata: { name: 'r', labels: { ours: 'yes' }, annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' } },
  rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }],
}
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' }
const binding: Binding = { ...role, roleRef, subjects: [{ kind: 'User', name: 'ann' }] }

function changes(entry: PolicyEntry, existing: KubeObject | undefined): PolicyChange[] {
  return reconcile([entry], () => existing)
}

const ofRole = (existing: KubeObject | undefined): PolicyChange[] =>
  changes({ resource: 'clusterroles', object: role }, existing)
const ofBinding = (existing: KubeObject | undefined): PolicyChange[] =>
  changes({ resource: 'clusterrolebindings', object: binding }, existing)

describe('roles', () => {
  it('are created where they are missing, and left where they are right', () => {
    expect(ofRole(undefined)).toEqual([{ action: 'create', resource: 'clusterroles', object: role }])
    expect(ofRole(role)).toEqual([])
  })

  it('get what they lack and keep what was added', () => {
    const extra = { verbs: ['delete'], apiGroups: [''], resources: ['nodes'] }
    const own = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
    const existing = { metadata: { name: 'r', uid: 'u', labels: { theirs: '1', ours: 'no' } }, rules: [extra, own] }
    const object = {
      metadata: {
        name: 'r',
        uid: 'u',
        labels: { theirs: '1', ours: 'no' },
        annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' },
      },
      rules: [extra, own, { verbs: ['list'], apiGroups: [''], resources: ['pods'] }],
    }
    expect(ofRole(existing)).toEqual([{ action: 'update', resource: 'clusterroles', object }])
  })

  it('are never touched when they say so', () => {
    expect(ofRole({ metadata: { name: 'r', annotations: { [AUTO_UPDATE_ANNOTATION]: 'false' } } })).toEqual([])
  })

  it('get back the selectors they lack, and lose an aggregation that was never meant', () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: '1' } }] }
    const other = { clusterRoleSelectors: [{ matchLabels: { b: '2' } }] }
    const aggregated = { resource: 'clusterroles', object: { ...role, aggregationRule } } as const
    const [change] = changes(aggregated, { ...role, aggregationRule: other })
    expect(change?.object['aggregationRule']).toEqual({
      clusterRoleSelectors: [{ matchLabels: { b: '2' } }, { matchLabels: { a: '1' } }],
    })
    expect(changes(aggregated, aggregated.object)).toEqual([])
    expect(ofRole({ ...role, aggregationRule })).toEqual([{ action: 'update', resource: 'clusterroles', object: role }])
  })
})

describe('bindings', () => {
  it('get the subjects they lack and keep what was added', () => {
    const subjects = [{ kind: 'User', name: 'bea', apiGroup: '' }]
    expect(ofBinding({ ...binding, subjects })).toEqual([
      {
        action: 'update',
        resource: 'clusterrolebindings',
        object: { ...binding, subjects: [...subjects, { kind: 'User', name: 'ann' }] },
      },
    ])
    expect(ofBinding({ ...binding, subjects: [...subjects, { kind: 'User', name: 'ann', apiGroup: '' }] })).toEqual([])
  })

  it('are made anew when they lead to another role', () => {
    const existing = { ...binding, roleRef: { ...roleRef, name: 'other' } }
    expect(ofBinding(existing)).toEqual([{ action: 'recreate', resource: 'clusterrolebindings', object: binding }])
    const kept = { metadata: { annotations: { [AUTO_UPDATE_ANNOTATION]: 'false' } } }
    expect(ofBinding({ ...existing, ...kept })).toEqual([])
  })
})

it('writes the whole default policy once, roles before their bindings, and then nothing', () => {
  const store = new Map<string, KubeObject>()
  const key = (resource: string, namespace: string, name: string): string => `${resource}/${namespace}/${name}`
  const run = (): PolicyChange[] =>
    reconcile(defaultPolicy(), (resource, namespace, name) => store.get(key(resource, namespace, name)))
  const first = run()
  for (const { resource, object } of first) {
    const { namespace = '', name = '' } = object.metadata ?? {}
    const roleName = (object as Binding).roleRef?.name
    const bound = resource === 'rolebindings' ? key('roles', namespace, roleName) : key('clusterroles', '', roleName)
    if (resource.endsWith('bindings')) expect(store.has(bound), bound).toBe(true)
    store.set(key(resource, namespace, name), object)
  }
  expect(store.size).toBe(first.length)
  expect(run()).toEqual([])
})
