/** The policy, the pods and the questions of `rbac.test.ts`. */
import type { ReviewedPath, ReviewedResource, ReviewedSubject } from '../../src/apiserver/auth/review-objects.ts'
import type { KubeObject } from '../../src/kube/objects.ts'

const rbacVersion = 'rbac.authorization.k8s.io/v1'
const rbacGroup = 'rbac.authorization.k8s.io'

export interface Fixture {
  /** The collection, from the root of the API. */
  readonly path: string
  readonly object: KubeObject
}

function clusterRole(name: string, rules: readonly object[]): Fixture {
  const object = { apiVersion: rbacVersion, kind: 'ClusterRole', metadata: { name }, rules }
  return { path: `/apis/${rbacVersion}/clusterroles`, object }
}

function role(name: string, rules: readonly object[]): Fixture {
  const object = { apiVersion: rbacVersion, kind: 'Role', metadata: { name, namespace: 'team' }, rules }
  return { path: `/apis/${rbacVersion}/namespaces/team/roles`, object }
}

function clusterBinding(name: string, roleName: string, subjects: readonly object[]): Fixture {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: roleName }
  const object = { apiVersion: rbacVersion, kind: 'ClusterRoleBinding', metadata: { name }, subjects, roleRef }
  return { path: `/apis/${rbacVersion}/clusterrolebindings`, object }
}

function binding(name: string, kind: string, roleName: string, subjects: readonly object[]): Fixture {
  const roleRef = { apiGroup: rbacGroup, kind, name: roleName }
  const metadata = { name, namespace: 'team' }
  const object = { apiVersion: rbacVersion, kind: 'RoleBinding', metadata, subjects, roleRef }
  return { path: `/apis/${rbacVersion}/namespaces/team/rolebindings`, object }
}

const user = (name: string): object => ({ kind: 'User', apiGroup: rbacGroup, name })
const group = (name: string): object => ({ kind: 'Group', apiGroup: rbacGroup, name })
const account = (namespace: string, name: string): object => ({ kind: 'ServiceAccount', namespace, name })

export const POLICY: readonly Fixture[] = [
  { path: '/api/v1/namespaces', object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } } },
  clusterRole('scaler', [{ verbs: ['get', 'update'], apiGroups: ['*'], resources: ['*/scale'] }]),
  clusterRole('star-sub', [{ verbs: ['get'], apiGroups: [''], resources: ['pods/*'] }]),
  clusterRole('one-secret', [{ verbs: ['*'], apiGroups: [''], resources: ['secrets'], resourceNames: ['shared'] }]),
  clusterRole('paths', [
    { verbs: ['get'], nonResourceURLs: ['/custom/*', '/logs*'] },
    { verbs: ['*'], nonResourceURLs: ['/exact'] },
  ]),
  clusterRole('all-widgets', [{ verbs: ['*'], apiGroups: ['example.com'], resources: ['*'] }]),
  clusterRole('role-writer', [
    { verbs: ['create', 'update', 'get'], apiGroups: [rbacGroup], resources: ['*'] },
    { verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods', '*/log'] },
    { verbs: ['get'], nonResourceURLs: ['/custom/*'] },
    { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['shared'] },
  ]),
  clusterRole('binds-scaler', [
    { verbs: ['create'], apiGroups: [rbacGroup], resources: ['clusterrolebindings', 'rolebindings'] },
    { verbs: ['bind'], apiGroups: [rbacGroup], resources: ['clusterroles'], resourceNames: ['scaler'] },
    { verbs: ['create', 'escalate'], apiGroups: [rbacGroup], resources: ['roles'] },
  ]),
  role('reader', [
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods', 'pods/log'] },
    { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['settings', 'more'] },
  ]),
  clusterBinding('alice-scales', 'scaler', [group('nobody'), user('alice')]),
  clusterBinding('alice-paths', 'paths', [user('alice')]),
  clusterBinding('bob-secret', 'one-secret', [group('devs')]),
  clusterBinding('bob-stars', 'star-sub', [user('bob')]),
  clusterBinding('carol-missing', 'does-not-exist', [user('carol')]),
  clusterBinding('robot-widgets', 'all-widgets', [account('team', 'robot')]),
  clusterBinding('eve-writes-roles', 'role-writer', [user('eve')]),
  clusterBinding('henry-writes-roles', 'role-writer', [user('henry')]),
  clusterBinding('henry-missing', 'does-not-exist', [user('henry')]),
  clusterBinding('frank-binds', 'binds-scaler', [user('frank')]),
  binding('team-readers', 'Role', 'reader', [user('dave'), group('devs'), account('team', 'robot')]),
  binding('team-missing', 'Role', 'gone', [user('dave')]),
  binding('team-admins', 'ClusterRole', 'cluster-admin', [user('gina')]),
]

const authenticated = 'system:authenticated'
const accounts = ['system:serviceaccounts', authenticated]

export const SUBJECTS: readonly ReviewedSubject[] = [
  { user: 'alice', groups: [authenticated] },
  { user: 'bob', groups: ['devs', authenticated] },
  { user: 'carol' },
  { user: 'dave' },
  { groups: ['devs'] },
  { user: 'gina', groups: [authenticated] },
  { user: 'root', groups: ['system:masters'] },
  { user: 'system:anonymous', groups: ['system:unauthenticated'] },
  { user: 'system:serviceaccount:team:robot', groups: [...accounts, 'system:serviceaccounts:team'] },
  { user: 'system:serviceaccount:other:robot', groups: [...accounts, 'system:serviceaccounts:other'] },
  { user: 'system:kube-controller-manager', groups: [authenticated] },
  { user: 'system:kube-scheduler', groups: [authenticated] },
  { user: 'system:kube-proxy' },
  { user: 'system:serviceaccount:kube-system:deployment-controller', groups: accounts },
]

type Question = { readonly resourceAttributes: ReviewedResource } | { readonly nonResourceAttributes: ReviewedPath }

/** `verb resource[.group][/subresource] [namespace] [name]`, with `-` for no namespace; or `verb /path`. */
export function question(text: string): Question {
  const [verb = '', what = '', where = '-', name = ''] = text.split(' ')
  if (what.startsWith('/')) return { nonResourceAttributes: { verb, path: what } }
  const [full = '', subresource = ''] = what.split('/')
  const [resource = '', ...groupParts] = full.split('.')
  const namespace = where === '-' ? '' : where
  return { resourceAttributes: { verb, resource, group: groupParts.join('.'), subresource, namespace, name } }
}

export const QUESTIONS: readonly string[] = [
  'get pods team',
  'get pods team web',
  'list pods team',
  'list pods',
  'delete pods team web',
  'get pods/log team web',
  'get pods/exec team web',
  'get deployments.apps/scale team web',
  'update statefulsets.apps/scale other web',
  'patch deployments.apps/scale team web',
  'update deployments.apps/status team web',
  'get secrets team shared',
  'delete secrets - shared',
  'get secrets team private',
  'list secrets team',
  'get configmaps team settings',
  'get configmaps team other',
  'get configmaps kube-system extension-apiserver-authentication',
  'create widgets.example.com team',
  'get leases.coordination.k8s.io kube-system kube-scheduler',
  'create selfsubjectaccessreviews.authorization.k8s.io',
  'escalate clusterroles.rbac.authorization.k8s.io',
  'get /healthz',
  'post /healthz',
  'get /custom/a/b',
  'get /custom',
  'get /logs',
  'delete /exact',
  'get /openid/v1/jwks',
  'get /apis/apps',
]

const container = { name: 'c', image: 'none' }

function pod(name: string, spec: object, annotations: Record<string, string> = {}): Fixture {
  const metadata = { name, namespace: 'team', annotations }
  const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container], ...spec } }
  return { path: '/api/v1/namespaces/team/pods', object }
}

function volume(name: string, spec: object): Fixture {
  const base = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain' }
  const object = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { ...base, ...spec } }
  return { path: '/api/v1/persistentvolumes', object }
}

const secretRef = (name: string): object => ({ name, namespace: 'vault' })

export const NODE_OBJECTS: readonly Fixture[] = [
  pod('uses-all', {
    nodeName: 'n1',
    serviceAccountName: 'worker',
    imagePullSecrets: [{ name: 'pull' }],
    initContainers: [
      { ...container, name: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env-key', key: 'k' } } }] },
    ],
    containers: [
      {
        ...container,
        envFrom: [{ secretRef: { name: 'env-all' } }, { configMapRef: { name: 'env-map' } }],
        env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'key-map', key: 'k' } } }],
      },
    ],
    volumes: [
      { name: 'a', secret: { secretName: 'mounted' } },
      { name: 'b', configMap: { name: 'mounted-map' } },
      {
        name: 'c',
        projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected-map' } }] },
      },
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
      {
        name: 'e',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      },
      { name: 'f', csi: { driver: 'x', nodePublishSecretRef: { name: 'inline-csi' } } },
    ],
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu-claim' }],
  }),
  pod('other-node', { nodeName: 'n2', volumes: [{ name: 'a', secret: { secretName: 'elsewhere' } }] }),
  pod('unbound', { volumes: [{ name: 'a', secret: { secretName: 'unbound' } }] }),
  pod(
    'mirror',
    { nodeName: 'n1', volumes: [{ name: 'a', configMap: { name: 'stolen' } }] },
    { 'kubernetes.io/config.mirror': 'x' },
  ),
  volume('claimed', {
    claimRef: { namespace: 'team', name: 'data' },
    csi: {
      driver: 'x',
      volumeHandle: 'y',
      nodePublishSecretRef: secretRef('publish'),
      nodeStageSecretRef: secretRef('stage'),
      nodeExpandSecretRef: secretRef('expand'),
      controllerPublishSecretRef: secretRef('controller'),
    },
  }),
  volume('foreign', { claimRef: { namespace: 'team', name: 'other' }, hostPath: { path: '/x' } }),
  volume('free', { hostPath: { path: '/y' } }),
  {
    path: '/apis/storage.k8s.io/v1/volumeattachments',
    object: {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'attached' },
      spec: { attacher: 'x', nodeName: 'n1', source: { persistentVolumeName: 'claimed' } },
    },
  },
  {
    path: '/apis/resource.k8s.io/v1/resourceslices',
    object: {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: 'slice' },
      spec: { nodeName: 'n1', driver: 'x.example', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
    },
  },
]

const names: Readonly<Record<string, readonly string[]>> = {
  'secrets team': ['pull', 'env-key', 'env-all', 'mounted', 'projected', 'inline-csi', 'elsewhere', 'unbound', 'none'],
  'secrets vault': ['publish', 'stage', 'expand', 'controller'],
  'configmaps team': ['env-map', 'key-map', 'mounted-map', 'projected-map', 'stolen', 'none'],
  'persistentvolumeclaims team': ['data', 'uses-all-e', 'other'],
  'persistentvolumeclaims/status team': ['data', 'other'],
  'persistentvolumes -': ['claimed', 'foreign', 'free'],
  'resourceclaims.resource.k8s.io team': ['gpu-claim', 'none'],
  'volumeattachments.storage.k8s.io -': ['attached', 'none'],
  'resourceslices.resource.k8s.io -': ['slice', 'none'],
  'serviceaccounts team': ['worker', 'none'],
  'serviceaccounts/token team': ['worker', 'none'],
  'pods team': ['uses-all', 'other-node', 'mirror', 'unbound'],
  'nodes -': ['n1', 'n2'],
  'csinodes.storage.k8s.io -': ['n1', 'n2'],
  'leases.coordination.k8s.io kube-node-lease': ['n1', 'n2'],
}

export const NODE_QUESTIONS: readonly string[] = [
  ...Object.entries(names).flatMap(([what, list]) =>
    list.flatMap((name) => ['get', 'update'].map((verb) => `${verb} ${what} ${name}`)),
  ),
  ...Object.keys(names).flatMap((what) => ['list', 'create', 'deletecollection'].map((verb) => `${verb} ${what}`)),
  'create serviceaccounts/token team worker',
  'create serviceaccounts/token team none',
  'create serviceaccounts/other team worker',
  'get leases.coordination.k8s.io team n1',
  'get secrets/x team pull',
  'get secrets - pull',
  'get persistentvolumes/x - claimed',
  'get csinodes.storage.k8s.io/x - n1',
  'get resourceslices.resource.k8s.io/x - slice',
  'bind resourceslices.resource.k8s.io - slice',
  'patch nodes/status - n1',
  'get nodes/proxy - n1',
  'patch pods/status team uses-all',
  'create pods/eviction team uses-all',
  'get pods/log team uses-all',
  'watch pods team uses-all',
  'watch pods team other-node',
  'create certificatesigningrequests.certificates.k8s.io',
  'create podcertificaterequests.certificates.k8s.io team',
  'list services',
  'create events team',
  'create tokenreviews.authentication.k8s.io',
  'list deployments.apps',
  'get /healthz',
]
