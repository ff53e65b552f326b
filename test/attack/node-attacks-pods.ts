/** What a node tries with pods, their tokens and their accounts. */
import { type Attack, type Facts, MERGE, TEAM } from './node-attack.ts'

const container = { name: 'c', image: 'i' }

function patch(what: string, target: string, body: object, isAllowed = false): Attack {
  return { what, method: 'PATCH', target, body, type: MERGE, isAllowed }
}

function create(what: string, target: string, body: object, isAllowed = false): Attack {
  return { what, method: 'POST', target, body, isAllowed }
}

function token(what: string, account: string, spec: object, isAllowed = false): Attack {
  return create(`asks for a token ${what}`, `${TEAM}/serviceaccounts/${account}/token`, { spec }, isAllowed)
}

export function podAttacks({ nodeUid, otherNodeUid, podUid, otherPodUid }: Facts): readonly Attack[] {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'edge-1', uid: nodeUid, controller: true }
  const mirrored = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner] }
  const mirror = (what: string, spec: object, metadata: object = {}, isAllowed = false): Attack =>
    create(
      `mirrors a pod ${what}`,
      `${TEAM}/pods?dryRun=All`,
      {
        metadata: { name: 'static', ...mirrored, ...metadata },
        spec: { nodeName: 'edge-1', containers: [container], ...spec },
      },
      isAllowed,
    )
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] })
  const env = (valueFrom: object): object => ({ containers: [{ ...container, env: [{ name: 'A', valueFrom }] }] })
  const bound = { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: podUid } }
  const boundTo = (reference: object): object => ({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...reference } })
  return [
    create('makes an ordinary pod', `${TEAM}/pods`, {
      metadata: { name: 'new' },
      spec: { nodeName: 'edge-1', containers: [container] },
    }),
    mirror('of its own', {}, {}, true),
    mirror('on another node', { nodeName: 'edge-2' }),
    mirror('on no node', { nodeName: '' }),
    mirror('that nobody owns', {}, { ownerReferences: [] }),
    mirror('of another node', {}, { ownerReferences: [{ ...owner, name: 'edge-2', uid: otherNodeUid }] }),
    mirror('with a wrong uid', {}, { ownerReferences: [{ ...owner, uid: otherNodeUid }] }),
    mirror(
      'with two owners',
      {},
      { ownerReferences: [owner, { ...owner, controller: false, kind: 'Pod', name: 'theirs', uid: otherPodUid }] },
    ),
    mirror('that its node does not control', {}, { ownerReferences: [{ ...owner, controller: false }] }),
    mirror('that keeps its node from going', {}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
    mirror('under an account', { serviceAccountName: 'app' }),
    mirror('with a secret', volume({ secret: { secretName: 'theirs' } })),
    mirror('with a config map', volume({ configMap: { name: 'theirs' } })),
    mirror('with a claim', volume({ persistentVolumeClaim: { claimName: 'theirs' } })),
    mirror('with a projected secret', volume({ projected: { sources: [{ secret: { name: 'theirs' } }] } })),
    mirror('with a projected token', volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } })),
    mirror(
      'with an ephemeral claim',
      volume({
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      }),
    ),
    mirror(
      'with a driver that reads secrets',
      volume({ csi: { driver: 'd.io', nodePublishSecretRef: { name: 'theirs' } } }),
    ),
    mirror('with a secret in its environment', env({ secretKeyRef: { name: 'theirs', key: 'a' } })),
    mirror('with a config map in its environment', env({ configMapKeyRef: { name: 'theirs', key: 'a' } })),
    mirror('with a secret for its image', { imagePullSecrets: [{ name: 'theirs' }] }),
    mirror('with a claim of a device', { resourceClaims: [{ name: 'a', resourceClaimName: 'b' }] }),
    create('makes a pod of a controller of another', `${TEAM}/pods?dryRun=All`, {
      metadata: {
        name: 'x',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: otherPodUid, controller: true }],
      },
      spec: { nodeName: 'edge-1', containers: [container] },
    }),
    patch('changes the status of a pod of another node', `${TEAM}/pods/theirs/status`, {
      status: { phase: 'Running' },
    }),
    patch('changes the status of a pod without a node', `${TEAM}/pods/free/status`, { status: { phase: 'Running' } }),
    patch('reports of its pod', `${TEAM}/pods/mine/status`, { status: { phase: 'Running' } }, true),
    patch('changes its pod through its status', `${TEAM}/pods/mine/status`, { metadata: { labels: { a: 'b' } } }),
    patch('changes the image of its pod', `${TEAM}/pods/mine`, {
      spec: { containers: [{ name: 'c', image: 'other' }] },
    }),
    patch('labels a pod of another node', `${TEAM}/pods/theirs`, { metadata: { labels: { a: 'b' } } }),
    patch('holds its pod', `${TEAM}/pods/mine`, { metadata: { finalizers: ['x.io/y'] } }),
    patch('moves its pod', `${TEAM}/pods/mine/status`, { spec: { nodeName: 'edge-2' } }, true),
    {
      what: 'replaces a pod of another node',
      method: 'PUT',
      target: `${TEAM}/pods/theirs`,
      body: { metadata: { name: 'theirs' }, spec: { containers: [container] } },
    },
    create('binds a pod to itself', `${TEAM}/pods/free/binding`, {
      metadata: { name: 'free' },
      target: { kind: 'Node', name: 'edge-1' },
    }),
    create('binds a pod the old way', `${TEAM}/bindings`, {
      metadata: { name: 'free' },
      target: { kind: 'Node', name: 'edge-1' },
    }),
    create('evicts a pod of another node', `${TEAM}/pods/theirs/eviction`, { metadata: { name: 'theirs' } }),
    create('evicts its pod', `${TEAM}/pods/mine/eviction?dryRun=All`, { metadata: { name: 'mine' } }, true),
    { what: 'deletes a pod of another node', method: 'DELETE', target: `${TEAM}/pods/theirs?gracePeriodSeconds=0` },
    { what: 'deletes a pod without a node', method: 'DELETE', target: `${TEAM}/pods/free?gracePeriodSeconds=0` },
    { what: 'deletes all pods', method: 'DELETE', target: `${TEAM}/pods?fieldSelector=spec.nodeName%3Dedge-1` },
    { what: 'deletes its pod', method: 'DELETE', target: `${TEAM}/pods/mine?dryRun=All`, isAllowed: true },
    {
      what: 'adds a container to its pod',
      method: 'PATCH',
      target: `${TEAM}/pods/mine/ephemeralcontainers`,
      body: { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } },
      type: MERGE,
    },
    token('for its pod', 'app', bound, true),
    token('for its pod, for others', 'app', { ...bound, audiences: ['https://elsewhere.example'] }),
    token('that is bound to nothing', 'app', {}),
    token('of an account that none of its pods has', 'other', bound),
    token('of an account for a pod of another node', 'other', boundTo({ name: 'theirs', uid: otherPodUid })),
    token('for a pod by its name alone', 'app', boundTo({ name: 'mine' })),
    token('for a pod with another uid', 'app', boundTo({ name: 'mine', uid: otherPodUid })),
    token('for a pod that is not there', 'app', boundTo({ name: 'gone', uid: podUid })),
    token('that is bound to its node', 'app', {
      boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'edge-1', uid: nodeUid },
    }),
    token('that is bound to a secret', 'app', {
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'mine', uid: podUid },
    }),
    token('that lasts a moment', 'app', { ...bound, expirationSeconds: 1 }),
    token('that lasts forever', 'app', { ...bound, expirationSeconds: 2 ** 33 }),
    create('asks for a token in another namespace', '/api/v1/namespaces/kube-system/serviceaccounts/app/token', {
      spec: bound,
    }),
    create('makes a secret', `${TEAM}/secrets`, { metadata: { name: 'new' } }),
    create('makes a token for an account the old way', `${TEAM}/secrets`, {
      metadata: { name: 'new', annotations: { 'kubernetes.io/service-account.name': 'app' } },
      type: 'kubernetes.io/service-account-token',
    }),
    patch('changes the secret of its pod', `${TEAM}/secrets/mine`, { data: { a: 'Yg==' } }),
    patch('changes the claim of its pod', `${TEAM}/persistentvolumeclaims/mine`, { metadata: { labels: { a: 'b' } } }),
    patch(
      'resizes the claim of its pod',
      `${TEAM}/persistentvolumeclaims/mine/status`,
      { status: { capacity: { storage: '2Gi' } } },
      true,
    ),
    patch('changes the phase of its claim', `${TEAM}/persistentvolumeclaims/mine/status`, {
      status: { phase: 'Bound' },
    }),
    patch('resizes the claim of a pod of another node', `${TEAM}/persistentvolumeclaims/theirs/status`, {
      status: { capacity: { storage: '2Gi' } },
    }),
    {
      what: 'makes a config map by an update',
      method: 'PUT',
      target: `${TEAM}/configmaps/new`,
      body: { metadata: { name: 'new' } },
    },
    {
      what: 'applies a config map',
      method: 'PATCH',
      target: `${TEAM}/configmaps/new?fieldManager=x`,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } },
      type: 'application/apply-patch+yaml',
    },
    create('makes an account', `${TEAM}/serviceaccounts`, { metadata: { name: 'new' } }),
    create('makes a namespace', '/api/v1/namespaces', { metadata: { name: 'new' } }),
    create('makes a role', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'new' }, rules: [] }),
    create('binds itself to a role', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'new' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' }],
    }),
    create('reviews a token', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }, true),
    create(
      'reviews the rights of others',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { spec: { user: 'admin', resourceAttributes: { verb: 'get', resource: 'pods' } } },
      true,
    ),
    create('hooks itself into admission', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
      metadata: { name: 'new' },
    }),
  ]
}
