/** What a node tries with Node objects, leases, CSINodes, events and its name. */
import { type Attack, type Facts, lease, MERGE } from './node-attack.ts'

const nodes = '/api/v1/nodes'
const leases = '/apis/coordination.k8s.io/v1/namespaces'
const csiNodes = '/apis/storage.k8s.io/v1/csinodes'

function patch(what: string, target: string, body: object, isAllowed = false): Attack {
  return { what, method: 'PATCH', target, body, type: MERGE, isAllowed }
}

function create(what: string, target: string, body: object, isAllowed = false): Attack {
  return { what, method: 'POST', target, body, isAllowed }
}

const taint = { key: 'a', effect: 'NoSchedule' }

function labels(what: string, label: string, value: string | null, isAllowed = false): Attack {
  return patch(
    `${what} itself with the label ${label}`,
    `${nodes}/edge-1`,
    { metadata: { labels: { [label]: value } } },
    isAllowed,
  )
}

function event(name: string, namespace: string, involved: object, more: object = {}): object {
  return { metadata: { name, namespace }, involvedObject: involved, reason: 'r', ...more }
}

export function nodeObjectAttacks(facts: Facts): readonly Attack[] {
  return [
    create('creates another node', nodes, { metadata: { name: 'edge-3' } }),
    create('creates a node under a drawn name', nodes, { metadata: { generateName: 'edge-' } }),
    create('creates itself again with a forbidden label', `${nodes}?dryRun=All`, {
      metadata: { name: 'edge-1', labels: { 'node-restriction.kubernetes.io/a': 'b' } },
    }),
    patch('labels another node', `${nodes}/edge-2`, { metadata: { labels: { a: 'b' } } }),
    patch('changes the status of another node', `${nodes}/edge-2/status`, { status: { conditions: [] } }),
    { what: 'replaces another node', method: 'PUT', target: `${nodes}/edge-2`, body: { metadata: { name: 'edge-2' } } },
    { what: 'deletes another node', method: 'DELETE', target: `${nodes}/edge-2` },
    { what: 'deletes itself', method: 'DELETE', target: `${nodes}/edge-1` },
    { what: 'deletes all nodes', method: 'DELETE', target: nodes },
    labels('marks', 'node-restriction.kubernetes.io/zone', 'a'),
    labels('marks', 'sub.node-restriction.kubernetes.io/zone', 'a'),
    labels('marks', 'node-role.kubernetes.io/control-plane', ''),
    labels('marks', 'kubernetes.io/unknown', 'a'),
    labels('marks', 'k8s.io/unknown', 'a'),
    labels('marks', 'sub.k8s.io/unknown', 'a'),
    labels('marks', 'role', 'other', true),
    labels('marks', 'kubernetes.io/arch', 'x', true),
    labels('marks', 'node.kubernetes.io/custom', 'x', true),
    labels('marks', 'kubelet.kubernetes.io/custom', 'x', true),
    patch('marks itself through its status', `${nodes}/edge-1/status`, {
      metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } },
    }),
    patch('taints itself', `${nodes}/edge-1`, { spec: { taints: [taint] } }),
    patch('taints itself through its status', `${nodes}/edge-1/status`, { spec: { taints: [taint] } }),
    patch('names another provider of itself', `${nodes}/edge-1`, { spec: { providerID: 'other://x' } }, true),
    patch('makes itself unschedulable', `${nodes}/edge-1`, { spec: { unschedulable: true } }, true),
    patch('takes its config from elsewhere', `${nodes}/edge-1`, {
      spec: { configSource: { configMap: { namespace: 'team', name: 'theirs', kubeletConfigKey: 'a' } } },
    }),
    patch('is owned by another node', `${nodes}/edge-1`, {
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'edge-2', uid: facts.otherNodeUid }] },
    }),
    patch('makes itself the owner that keeps another', `${nodes}/edge-1`, {
      metadata: {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Node', name: 'edge-2', uid: facts.otherNodeUid, blockOwnerDeletion: true },
        ],
      },
    }),
    patch('cannot be deleted any more', `${nodes}/edge-1`, { metadata: { finalizers: ['x.io/y'] } }, true),
    patch('can be deleted again', `${nodes}/edge-1`, { metadata: { finalizers: null } }, true),
    patch(
      'reports its status',
      `${nodes}/edge-1/status`,
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      true,
    ),
    create('takes the lease of another node', `${leases}/kube-node-lease/leases`, lease('edge-3')),
    create('makes a lease of its own elsewhere', `${leases}/kube-system/leases`, lease('edge-1')),
    create('makes a lease of its own in a namespace of others', `${leases}/team/leases`, lease('edge-1')),
    create('makes a lease under a drawn name', `${leases}/kube-node-lease/leases`, {
      metadata: { generateName: 'edge-' },
      spec: {},
    }),
    {
      what: 'makes a lease of another by an update',
      method: 'PUT',
      target: `${leases}/kube-node-lease/leases/edge-3`,
      body: lease('edge-3'),
    },
    patch('renews the lease of another node', `${leases}/kube-node-lease/leases/edge-2`, {
      spec: { holderIdentity: 'edge-1' },
    }),
    patch('steals the election of the scheduler', `${leases}/kube-system/leases/kube-scheduler`, {
      spec: { holderIdentity: 'edge-1' },
    }),
    { what: 'deletes the lease of another node', method: 'DELETE', target: `${leases}/kube-node-lease/leases/edge-2` },
    { what: 'deletes all leases', method: 'DELETE', target: `${leases}/kube-node-lease/leases` },
    create('makes its lease', `${leases}/kube-node-lease/leases`, lease('edge-1'), true),
    patch('renews its lease', `${leases}/kube-node-lease/leases/edge-1`, { spec: { holderIdentity: 'x' } }, true),
    create('describes the drivers of another node', csiNodes, { metadata: { name: 'edge-3' }, spec: { drivers: [] } }),
    patch('changes the drivers of another node', `${csiNodes}/edge-2`, { metadata: { labels: { a: 'b' } } }),
    { what: 'deletes the drivers of another node', method: 'DELETE', target: `${csiNodes}/edge-2` },
    create('describes its drivers', csiNodes, { metadata: { name: 'edge-1' }, spec: { drivers: [] } }, true),
    create(
      'tells of a pod of another node',
      '/api/v1/namespaces/team/events',
      event('e1', 'team', { kind: 'Pod', namespace: 'team', name: 'theirs' }),
      true,
    ),
    create(
      'tells of another node',
      '/api/v1/namespaces/default/events',
      event('e2', 'default', { kind: 'Node', name: 'edge-2' }),
      true,
    ),
    create(
      'tells of one namespace in another',
      '/api/v1/namespaces/default/events',
      event('e3', 'default', { kind: 'Pod', namespace: 'team', name: 'mine' }),
    ),
    create(
      'tells of a pod in the name of the scheduler',
      '/api/v1/namespaces/team/events',
      event(
        'e4',
        'team',
        { kind: 'Pod', namespace: 'team', name: 'theirs' },
        { source: { component: 'default-scheduler' } },
      ),
      true,
    ),
    create(
      'tells a long story',
      '/api/v1/namespaces/team/events',
      event('e5', 'team', { kind: 'Pod', namespace: 'team', name: 'mine' }, { message: 'x'.repeat(2 * 1024 * 1024) }),
    ),
    create(
      'tells under an impossible name',
      '/api/v1/namespaces/team/events',
      event('../x', 'team', { kind: 'Pod', namespace: 'team', name: 'mine' }),
    ),
    { what: 'reads what others told', method: 'GET', target: '/api/v1/namespaces/team/events' },
    { what: 'deletes what others told', method: 'DELETE', target: '/api/v1/namespaces/team/events/e1' },
    {
      what: 'plays an administrator',
      method: 'GET',
      target: `${nodes}/edge-2`,
      headers: [
        ['impersonate-user', 'admin'],
        ['impersonate-group', 'system:masters'],
      ],
    },
    {
      what: 'plays another node',
      method: 'GET',
      target: `${nodes}/edge-2`,
      headers: [['impersonate-user', 'system:node:edge-2']],
    },
    {
      what: 'plays itself',
      method: 'GET',
      target: `${nodes}/edge-1`,
      headers: [['impersonate-user', 'system:node:edge-1']],
    },
    {
      what: 'comes as a front proxy',
      method: 'GET',
      target: `${nodes}/edge-2`,
      headers: [
        ['x-remote-user', 'admin'],
        ['x-remote-group', 'system:masters'],
      ],
    },
  ]
}
