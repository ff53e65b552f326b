import { describe, expect, it } from 'vitest'
import { type AdmissionQuestion, admissionRequest, World } from '../../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { ALLOWED, type Authorizer, NO_OPINION, NO_RULES } from '../../request/authorizer.ts'
import { forbiddenLabelChanges } from './node-labels.ts'
import { NodeRestriction } from './node-restriction.ts'

const user = { name: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} }
const authorizer = (allows: string): Authorizer => ({
  authorize: (attributes) => (attributes.kind === 'resource' && attributes.resource === allows ? ALLOWED : NO_OPINION),
  rulesFor: () => NO_RULES,
})
const pod = (name: string, nodeName: string, volumes: object[] = []): KubeObject => ({
  metadata: { name, namespace: 'work', uid: `uid-${name}` },
  spec: { nodeName, volumes },
})
const world = new World()
  .add('nodes', { metadata: { name: 'n1', uid: 'u1' } })
  .add(
    'pods',
    pod('mine', 'n1', [
      { name: 'claimed', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'lost', persistentVolumeClaim: { claimName: 'lost' } },
    ]),
    pod('plain', 'n1'),
    pod('other', 'n2'),
  )
  .add('persistentvolumeclaims', { metadata: { name: 'c', namespace: 'work' }, spec: { volumeName: 'v' } })
  .add('persistentvolumes', { metadata: { name: 'v' }, spec: { csi: { driver: 'disks.example.com' } } })
  .add('storage.k8s.io/v1/csidrivers', {
    metadata: { name: 'disks.example.com' },
    spec: { tokenRequests: [{ audience: 'disks' }] },
  })

async function ask(question: AdmissionQuestion, allows = ''): Promise<void> {
  const plugin = new NodeRestriction(world, authorizer(allows))
  const request = admissionRequest({ user, ...question })
  await plugin.admit(request)
  await plugin.validate(request)
}

describe('NodeRestriction', () => {
  it('does not look at other users', async () => {
    const admin = { ...user, groups: [] }
    await ask({ resource: 'nodes', operation: 'DELETE', old: { metadata: { name: 'n2' } }, user: admin })
  })

  it.each(['exec', 'binding', 'ephemeralcontainers'])('keeps kubelets from pods/%s', async (subresource) => {
    await expect(ask({ resource: 'pods', subresource, object: pod('mine', 'n1') })).rejects.toThrow(
      `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`,
    )
  })

  it('lets a kubelet delete and evict its own pods only', async () => {
    await ask({ resource: 'pods', operation: 'DELETE', old: pod('mine', 'n1') })
    await ask({ resource: 'pods', subresource: 'eviction', object: { metadata: { name: 'mine', namespace: 'work' } } })
    await expect(ask({ resource: 'pods', operation: 'DELETE', old: pod('other', 'n2') })).rejects.toThrow(
      'node "n1" can only delete pods with spec.nodeName set to itself',
    )
    await expect(ask({ resource: 'pods', operation: 'DELETE', old: pod('gone', 'n1') })).rejects.toThrow(
      'pod "gone" not found',
    )
  })

  const token = (name: string, ...audiences: string[]): AdmissionQuestion => ({
    resource: 'serviceaccounts',
    subresource: 'token',
    object: {
      metadata: { name: 'default', namespace: 'work' },
      spec: { audiences, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid: `uid-${name}` } },
    },
  })

  it('lets a kubelet have tokens for the drivers of its pods', async () => {
    await ask(token('mine', 'disks'))
  })

  it('lets RBAC allow further audiences', async () => {
    await ask(token('plain', 'vault'), 'vault')
    await expect(ask(token('plain', 'vault'))).rejects.toThrow(
      'audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    )
  })

  it('says why it cannot tell about an audience', async () => {
    await expect(ask(token('mine', 'strange'))).rejects.toThrow(
      'error validating audience "strange": persistentvolumeclaim "lost" not found',
    )
  })
})

it('knows the labels that a kubelet may set', () => {
  const now = {
    'example.com/a': '1',
    'kubernetes.io/arch': '1',
    'node.kubernetes.io/b': '1',
    'x.kubelet.kubernetes.io/c': '1',
    'kubernetes.io/kept': '1',
    'kubernetes.io/new': '1',
    'k8s.io/new': '1',
    'a.node-restriction.kubernetes.io/d': '1',
  }
  const before = { 'kubernetes.io/kept': '1', 'sub.k8s.io/removed': '1' }
  expect(forbiddenLabelChanges(now, before)).toEqual([
    'a.node-restriction.kubernetes.io/d',
    'k8s.io/new',
    'kubernetes.io/new',
    'sub.k8s.io/removed',
  ])
})
