/** The cluster in which admission is compared, and the requests that are compared in it. */
import type { UserInfo } from '../../src/apiserver/request/user.ts'
import type { KubeObject } from '../../src/kube/objects.ts'

type Change = (object: KubeObject) => void
interface Target {
  /** `pods`, or `apps/v1/deployments` outside of the core group; a subresource comes behind a colon: `pods:status`. */
  readonly resource: string
  readonly namespace?: string
}
export interface Given extends Target {
  readonly object: KubeObject
}
export type Case = Target & { readonly what: string; readonly as?: UserInfo } & (
    | { readonly verb: 'create'; readonly object: KubeObject; readonly name?: string }
    | { readonly verb: 'update'; readonly name: string; readonly change: Change }
    | { readonly verb: 'delete'; readonly name: string }
  )

const user = (name: string, ...groups: string[]): UserInfo => ({ name, uid: '', groups, extra: {} })
const nodeUser = user('system:node:n1', 'system:nodes', 'system:authenticated')
const namelessNode = user('system:node:', 'system:nodes', 'system:authenticated')
const ed = user('ed', 'system:authenticated')
export const ADMIN = user('admin', 'system:masters', 'system:authenticated')

const rbac = 'rbac.authorization.k8s.io/v1'
const csrs = 'certificates.k8s.io/v1/certificatesigningrequests'
const leases = 'coordination.k8s.io/v1/leases'
const csiNodes = 'storage.k8s.io/v1/csinodes'
const mirror = { 'kubernetes.io/config.mirror': 'x' }

const named = (apiVersion: string, kind: string, name: string, rest: object = {}): KubeObject => {
  const { metadata, ...fields } = rest as KubeObject
  return { apiVersion, kind, metadata: { name, ...metadata }, ...fields }
}
const spec = (object: KubeObject): Record<string, unknown> => object['spec'] as Record<string, unknown>
const container = (resources: object = {}, rest: object = {}): object => ({
  name: 'main',
  image: 'example.com/app:1',
  resources,
  ...rest,
})
const pod = (name: string, podSpec: object = {}, metadata: object = {}): KubeObject =>
  named('v1', 'Pod', name, { metadata, spec: { containers: [container()], ...podSpec } })
const sized = (requests: object, limits: object, rest: object = {}): object => ({
  containers: [container({ requests, limits })],
  ...rest,
})
const claim = (name: string, storage: string, rest: object = {}): KubeObject =>
  named('v1', 'PersistentVolumeClaim', name, {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...rest },
  })
const service = (name: string, type: string, ports = 1): KubeObject =>
  named('v1', 'Service', name, {
    spec: { type, ports: Array.from({ length: ports }, (_, index) => ({ name: `p${index}`, port: 80 + index })) },
  })
const deployment = (name: string): KubeObject =>
  named('apps/v1', 'Deployment', name, {
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [container()] } },
    },
  })
const limits = (name: string, ...items: object[]): KubeObject =>
  named('v1', 'LimitRange', name, { spec: { limits: items } })
const quota = (name: string, hard: Record<string, string>, rest: object = {}): KubeObject =>
  named('v1', 'ResourceQuota', name, { spec: { hard, ...rest } })
const csr = (name: string, request: string, signerName: string): KubeObject =>
  named('certificates.k8s.io/v1', 'CertificateSigningRequest', name, {
    spec: { request, signerName, usages: ['client auth'] },
  })
const binding = (name: string, subject: object, role: string): KubeObject =>
  named(rbac, 'ClusterRoleBinding', name, {
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  })

const NAMESPACES_GIVEN = ['work', 'limited', 'ratio', 'podlimits', 'claims', 'metered', 'scoped', 'going']

/** Quotas stand before the objects that they count, so that the real server does the counting. */
export const QUOTAS: readonly Given[] = [
  {
    resource: 'resourcequotas',
    namespace: 'metered',
    object: quota('compute', {
      pods: '3',
      'requests.cpu': '1',
      'requests.memory': '1Gi',
      'limits.cpu': '2',
      'limits.memory': '2Gi',
    }),
  },
  {
    resource: 'resourcequotas',
    namespace: 'metered',
    object: quota('objects', {
      configmaps: '1',
      'count/deployments.apps': '1',
      'count/services': '9',
      services: '2',
      'services.nodeports': '2',
      'services.loadbalancers': '1',
      persistentvolumeclaims: '3',
      'requests.storage': '10Gi',
      'fast.storageclass.storage.k8s.io/requests.storage': '5Gi',
    }),
  },
  {
    resource: 'resourcequotas',
    namespace: 'scoped',
    object: quota('best-effort', { pods: '1' }, { scopes: ['BestEffort'] }),
  },
  {
    resource: 'resourcequotas',
    namespace: 'scoped',
    object: quota('terminating', { pods: '1' }, { scopes: ['Terminating'] }),
  },
  {
    resource: 'resourcequotas',
    namespace: 'scoped',
    object: quota('lasting', { 'requests.cpu': '1' }, { scopes: ['NotBestEffort', 'NotTerminating'] }),
  },
  {
    resource: 'resourcequotas',
    namespace: 'scoped',
    object: quota(
      'high',
      { pods: '1' },
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } },
    ),
  },
]

export const FIRST: readonly Given[] = [
  ...NAMESPACES_GIVEN.map((name) => ({ resource: 'namespaces', object: named('v1', 'Namespace', name) })),
  ...NAMESPACES_GIVEN.map((namespace) => ({
    resource: 'serviceaccounts',
    namespace,
    object: named('v1', 'ServiceAccount', 'default'),
  })),
  {
    resource: 'serviceaccounts',
    namespace: 'work',
    object: named('v1', 'ServiceAccount', 'robot', {
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'pull' }],
    }),
  },
  {
    resource: 'serviceaccounts',
    namespace: 'work',
    object: named('v1', 'ServiceAccount', 'strict', {
      metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
      secrets: [{ name: 'allowed' }],
    }),
  },
  {
    resource: 'limitranges',
    namespace: 'limited',
    object: limits('containers', {
      type: 'Container',
      min: { cpu: '100m' },
      max: { cpu: '1' },
      default: { cpu: '500m', memory: '256Mi' },
      defaultRequest: { cpu: '200m', memory: '128Mi' },
    }),
  },
  {
    resource: 'limitranges',
    namespace: 'ratio',
    object: limits('ratio', { type: 'Container', maxLimitRequestRatio: { memory: '2' } }),
  },
  {
    resource: 'limitranges',
    namespace: 'podlimits',
    object: limits('pods', { type: 'Pod', min: { memory: '128Mi' }, max: { memory: '1Gi' } }),
  },
  {
    resource: 'limitranges',
    namespace: 'claims',
    object: limits('claims', { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '10Gi' } }),
  },
  {
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    object: named('scheduling.k8s.io/v1', 'PriorityClass', 'high', { value: 1000, preemptionPolicy: 'Never' }),
  },
  {
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    object: named('scheduling.k8s.io/v1', 'PriorityClass', 'usual', { value: 10, globalDefault: true }),
  },
  {
    resource: 'storage.k8s.io/v1/storageclasses',
    object: named('storage.k8s.io/v1', 'StorageClass', 'fast', {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'example.com/fast',
    }),
  },
  {
    resource: 'networking.k8s.io/v1/ingressclasses',
    object: named('networking.k8s.io/v1', 'IngressClass', 'web', {
      metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'example.com/web' },
    }),
  },
  { resource: 'nodes', object: named('v1', 'Node', 'n1') },
  { resource: 'nodes', object: named('v1', 'Node', 'n2') },
  {
    resource: `${rbac}/clusterroles`,
    object: named(rbac, 'ClusterRole', 'any-object', {
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'] }],
    }),
  },
  // Kubelets may call everything here, so that only the plugin stands in their way.
  {
    resource: `${rbac}/clusterrolebindings`,
    object: binding('nodes', { kind: 'Group', name: 'system:nodes' }, 'any-object'),
  },
  {
    resource: `${rbac}/clusterroles`,
    object: named(rbac, 'ClusterRole', 'ed', {
      rules: [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs: ['get', 'create', 'update'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
        { apiGroups: ['certificates.k8s.io'], resources: ['*/approval', '*/status'], verbs: ['update'] },
        {
          apiGroups: ['certificates.k8s.io'],
          resources: ['signers'],
          resourceNames: ['example.com/*'],
          verbs: ['approve', 'sign'],
        },
      ],
    }),
  },
  { resource: `${rbac}/clusterrolebindings`, object: binding('ed', { kind: 'User', name: 'ed' }, 'ed') },
  {
    resource: `${rbac}/roles`,
    namespace: 'work',
    object: named(rbac, 'Role', 'reader', {
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    }),
  },
]

const token = { serviceAccountToken: { path: 'token', audience: 'vault' } }
const n1Volumes = [{ name: 'vault', projected: { sources: [token] } }]

/** What the quotas count, and the pods of the nodes. */
export const SECOND: readonly Given[] = [
  { resource: 'pods', namespace: 'work', object: pod('on-n1', { nodeName: 'n1', volumes: n1Volumes }) },
  { resource: 'pods', namespace: 'work', object: pod('on-n2', { nodeName: 'n2' }) },
  {
    resource: 'pods',
    namespace: 'metered',
    object: pod('one', sized({ cpu: '500m', memory: '512Mi' }, { cpu: '1', memory: '1Gi' })),
  },
  {
    resource: 'pods',
    namespace: 'metered',
    object: pod('two', {
      ...sized({ cpu: '100m', memory: '100M' }, { cpu: '150m', memory: '200M' }),
      initContainers: [
        {
          name: 'init',
          image: 'i',
          resources: { requests: { cpu: '200m', memory: '1Mi' }, limits: { cpu: '300m', memory: '1Mi' } },
        },
      ],
    }),
  },
  { resource: 'configmaps', namespace: 'metered', object: named('v1', 'ConfigMap', 'one') },
  { resource: 'apps/v1/deployments', namespace: 'metered', object: deployment('one') },
  { resource: 'services', namespace: 'metered', object: service('one', 'NodePort') },
  { resource: 'persistentvolumeclaims', namespace: 'metered', object: claim('one', '4Gi') },
  {
    resource: 'persistentvolumeclaims',
    namespace: 'metered',
    object: claim('other', '2G', { storageClassName: 'slow' }),
  },
  { resource: 'persistentvolumeclaims', namespace: 'work', object: claim('bound', '1Gi') },
  { resource: 'pods', namespace: 'scoped', object: pod('effort') },
  {
    resource: 'pods',
    namespace: 'scoped',
    object: pod('ending', sized({ cpu: '1' }, {}, { activeDeadlineSeconds: 60 })),
  },
  { resource: 'pods', namespace: 'scoped', object: pod('lasting', sized({ cpu: '700m' }, {})) },
  {
    resource: 'pods',
    namespace: 'scoped',
    object: pod('important', sized({ cpu: '100m' }, {}, { priorityClassName: 'high' })),
  },
]

/** Signing requests for `O=system:masters`, for an ordinary user, and for the node n1. */
export interface SigningRequests {
  readonly masters: string
  readonly ordinary: string
  readonly node: string
}

export function signingRequestsGiven({ ordinary }: SigningRequests): readonly Given[] {
  return [
    { resource: csrs, object: csr('client', ordinary, 'kubernetes.io/kube-apiserver-client') },
    { resource: csrs, object: csr('custom', ordinary, 'example.com/own') },
  ]
}

const pods = (what: string, object: KubeObject, namespace = 'work'): Case => ({
  what,
  verb: 'create',
  resource: 'pods',
  namespace,
  object,
})

const NAMESPACE_CASES: readonly Case[] = [
  pods('a pod in a namespace that is not there', pod('p'), 'nowhere'),
  {
    what: 'a config map in a namespace that is not there',
    verb: 'create',
    resource: 'configmaps',
    namespace: 'nowhere',
    object: named('v1', 'ConfigMap', 'c'),
  },
  pods('a pod in a namespace that is going', pod('p'), 'going'),
  pods(
    'a pod without a name in a namespace that is going',
    { ...pod(''), metadata: { generateName: 'base-' } },
    'going',
  ),
  {
    what: 'an update in a namespace that is going',
    verb: 'update',
    resource: 'serviceaccounts',
    namespace: 'going',
    name: 'default',
    change: (object) => {
      object.metadata = { ...object.metadata, labels: { a: 'b' } }
    },
  },
  ...['default', 'kube-system', 'kube-public', 'work'].map(
    (name): Case => ({ what: `the end of the namespace ${name}`, verb: 'delete', resource: 'namespaces', name }),
  ),
]

const ACCOUNT_CASES: readonly Case[] = [
  pods('a pod of the default account', pod('p')),
  pods('a pod without a name', { ...pod(''), metadata: { generateName: 'base-' } }),
  pods('a pod of a missing account', pod('p', { serviceAccountName: 'nobody' })),
  pods('a nameless pod of a missing account', {
    ...pod('', { serviceAccountName: 'nobody' }),
    metadata: { generateName: 'base-' },
  }),
  pods('a pod of an account that mounts nothing and pulls with a secret', pod('p', { serviceAccountName: 'robot' })),
  pods(
    'a pod that mounts against the will of its account',
    pod('p', { serviceAccountName: 'robot', automountServiceAccountToken: true }),
  ),
  pods('a pod that mounts nothing', pod('p', { automountServiceAccountToken: false })),
  pods(
    'a pod with pull secrets of its own',
    pod('p', { serviceAccountName: 'robot', imagePullSecrets: [{ name: 'mine' }] }),
  ),
  pods('a pod that names its account by the old field', pod('p', { serviceAccount: 'robot' })),
  pods('a pod with init containers', pod('p', { initContainers: [{ name: 'init', image: 'i' }] })),
  pods(
    'a pod that mounts a token where the server would',
    pod('p', {
      volumes: [{ name: 'own', emptyDir: {} }],
      containers: [
        container({}, { volumeMounts: [{ name: 'own', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }] }),
      ],
    }),
  ),
  pods(
    'a pod that has the token volume already',
    pod('p', { volumes: [{ name: 'kube-api-access-abcde', emptyDir: {} }] }),
  ),
  pods(
    'a pod with an allowed secret',
    pod('p', { serviceAccountName: 'strict', volumes: [{ name: 's', secret: { secretName: 'allowed' } }] }),
  ),
  pods(
    'a pod with a volume of another secret',
    pod('p', { serviceAccountName: 'strict', volumes: [{ name: 's', secret: { secretName: 'other' } }] }),
  ),
  pods(
    'a pod with a variable of another secret',
    pod('p', {
      serviceAccountName: 'strict',
      containers: [container({}, { env: [{ name: 'V', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } }] })],
    }),
  ),
  pods(
    'a pod with variables of another secret',
    pod('p', {
      serviceAccountName: 'strict',
      containers: [container({}, { envFrom: [{ secretRef: { name: 'other' } }] })],
    }),
  ),
  pods(
    'an init container with another secret',
    pod('p', {
      serviceAccountName: 'strict',
      initContainers: [{ name: 'init', image: 'i', envFrom: [{ secretRef: { name: 'other' } }] }],
    }),
  ),
  pods(
    'a pod with another pull secret',
    pod('p', { serviceAccountName: 'strict', imagePullSecrets: [{ name: 'other' }] }),
  ),
  pods(
    'a mirror pod with an account',
    pod('p', { nodeName: 'n1', serviceAccountName: 'robot' }, { annotations: mirror }),
  ),
  pods(
    'a mirror pod with a secret',
    pod('p', { nodeName: 'n1', volumes: [{ name: 's', secret: { secretName: 'x' } }] }, { annotations: mirror }),
  ),
  pods('a mirror pod with a token', pod('p', { nodeName: 'n1', volumes: n1Volumes }, { annotations: mirror })),
  pods('a mirror pod', pod('p', { nodeName: 'n1' }, { annotations: mirror })),
]

const LIMIT_CASES: readonly Case[] = [
  pods('a pod that asks for nothing', pod('p'), 'limited'),
  pods('a pod that asks for some', pod('p', sized({ cpu: '300m' }, {})), 'limited'),
  pods('init containers that ask for nothing', pod('p', { initContainers: [{ name: 'init', image: 'i' }] }), 'limited'),
  pods('a container below the minimum', pod('p', sized({ cpu: '50m' }, {})), 'limited'),
  pods('a container above the maximum', pod('p', sized({}, { cpu: '1500m' })), 'limited'),
  pods(
    'a nameless container above the maximum',
    { ...pod('', sized({}, { cpu: '1500m' })), metadata: { generateName: 'base-' } },
    'limited',
  ),
  pods('a ratio without amounts', pod('p'), 'ratio'),
  pods('a ratio without a limit', pod('p', sized({ memory: '1Mi' }, {})), 'ratio'),
  pods('a ratio that is too high', pod('p', sized({ memory: '100Mi' }, { memory: '300Mi' })), 'ratio'),
  pods('a ratio that just fits', pod('p', sized({ memory: '100Mi' }, { memory: '200Mi' })), 'ratio'),
  pods('a pod without amounts', pod('p'), 'podlimits'),
  pods('a pod below the minimum', pod('p', sized({ memory: '64Mi' }, { memory: '64Mi' })), 'podlimits'),
  pods(
    'containers that are too much together',
    pod('p', {
      containers: [
        container({ limits: { memory: '600Mi' } }),
        { ...container({ limits: { memory: '500Mi' } }), name: 'second' },
      ],
    }),
    'podlimits',
  ),
  pods(
    'an init container that is too much alone',
    pod('p', {
      ...sized({ memory: '200Mi' }, { memory: '200Mi' }),
      initContainers: [
        { name: 'init', image: 'i', resources: { requests: { memory: '200Mi' }, limits: { memory: '2Gi' } } },
      ],
    }),
    'podlimits',
  ),
  pods(
    'a sidecar that adds up',
    pod('p', {
      ...sized({ memory: '600Mi' }, { memory: '600Mi' }),
      initContainers: [
        { name: 'side', image: 'i', restartPolicy: 'Always', resources: { limits: { memory: '500Mi' } } },
      ],
    }),
    'podlimits',
  ),
  ...['500Mi', '5Gi', '11Gi'].map(
    (storage): Case => ({
      what: `a claim of ${storage}`,
      verb: 'create',
      resource: 'persistentvolumeclaims',
      namespace: 'claims',
      object: claim('c', storage),
    }),
  ),
]

const PRIORITY_CASES: readonly Case[] = [
  pods('a pod of a class', pod('p', { priorityClassName: 'high' })),
  pods('a pod of a class of the system', pod('p', { priorityClassName: 'system-node-critical' })),
  pods('a pod of a missing class', pod('p', { priorityClassName: 'none' })),
  pods('a pod with a priority that is not that of its class', pod('p', { priorityClassName: 'high', priority: 5 })),
  pods('a pod with the priority of its class', pod('p', { priorityClassName: 'high', priority: 1000 })),
  pods(
    'a pod that preempts against its class',
    pod('p', { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' }),
  ),
  {
    what: 'a second default class',
    verb: 'create',
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    object: named('scheduling.k8s.io/v1', 'PriorityClass', 'another', { value: 1, globalDefault: true }),
  },
  {
    what: 'a class made the second default',
    verb: 'update',
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    name: 'high',
    change: (object) => {
      object['globalDefault'] = true
    },
  },
  {
    what: 'the default class again',
    verb: 'update',
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    name: 'usual',
    change: (object) => {
      object['description'] = 'new'
    },
  },
  {
    what: 'the end of a class of the system',
    verb: 'delete',
    resource: 'scheduling.k8s.io/v1/priorityclasses',
    name: 'system-cluster-critical',
  },
  { what: 'the end of a class', verb: 'delete', resource: 'scheduling.k8s.io/v1/priorityclasses', name: 'high' },
]

const DEFAULT_CASES: readonly Case[] = [
  pods('tolerations of everything', pod('p', { tolerations: [{ operator: 'Exists' }] })),
  pods(
    'a toleration of one taint',
    pod('p', {
      tolerations: [
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
      ],
    }),
  ),
  pods(
    'a toleration of another effect',
    pod('p', { tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' }] }),
  ),
  {
    what: 'a claim without a class',
    verb: 'create',
    resource: 'persistentvolumeclaims',
    namespace: 'work',
    object: claim('c', '1Gi'),
  },
  {
    what: 'a claim with no class on purpose',
    verb: 'create',
    resource: 'persistentvolumeclaims',
    namespace: 'work',
    object: claim('c', '1Gi', { storageClassName: '' }),
  },
  {
    what: 'an ingress without a class',
    verb: 'create',
    resource: 'networking.k8s.io/v1/ingresses',
    namespace: 'work',
    object: named('networking.k8s.io/v1', 'Ingress', 'i', {
      spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
    }),
  },
  {
    what: 'a volume',
    verb: 'create',
    resource: 'persistentvolumes',
    object: named('v1', 'PersistentVolume', 'v', {
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
    }),
  },
  { what: 'a node', verb: 'create', resource: 'nodes', object: named('v1', 'Node', 'n9') },
]

const metered = (what: string, resource: string, object: KubeObject): Case => ({
  what,
  verb: 'create',
  resource,
  namespace: 'metered',
  object,
})
const QUOTA_CASES: readonly Case[] = [
  metered('a pod that says nothing', 'pods', pod('p')),
  metered('a pod that says no limits', 'pods', pod('p', sized({ cpu: '1m', memory: '1Mi' }, {}))),
  metered('a pod that fits', 'pods', pod('p', sized({ cpu: '1m', memory: '1Mi' }, { cpu: '1m', memory: '1Mi' }))),
  metered(
    'a pod with too much of one',
    'pods',
    pod('p', sized({ cpu: '500m', memory: '1Mi' }, { cpu: '500m', memory: '1Mi' })),
  ),
  metered(
    'a pod with too much of all',
    'pods',
    pod('p', sized({ cpu: '3', memory: '3Gi' }, { cpu: '3', memory: '3Gi' })),
  ),
  metered('a nameless pod with too much', 'pods', {
    ...pod('', sized({ cpu: '500m', memory: '1Mi' }, { cpu: '500m', memory: '1Mi' })),
    metadata: { generateName: 'base-' },
  }),
  metered('one config map too many', 'configmaps', named('v1', 'ConfigMap', 'c')),
  metered('one deployment too many', 'apps/v1/deployments', deployment('d')),
  metered('something that is not counted', 'secrets', named('v1', 'Secret', 's')),
  metered('a service', 'services', service('s', 'ClusterIP')),
  metered('too many node ports', 'services', service('s', 'NodePort', 2)),
  metered('a load balancer with too many ports', 'services', service('s', 'LoadBalancer', 3)),
  {
    what: 'a service that takes more ports',
    verb: 'update',
    resource: 'services',
    namespace: 'metered',
    name: 'one',
    change: (object) => {
      spec(object)['ports'] = [80, 81, 82].map((port) => ({ name: `p${port}`, port }))
    },
  },
  metered('too much storage of a class', 'persistentvolumeclaims', claim('c', '2Gi')),
  metered('too much storage', 'persistentvolumeclaims', claim('c', '20Gi', { storageClassName: 'slow' })),
  metered('storage that fits', 'persistentvolumeclaims', claim('c', '1Gi')),
  pods('a second best-effort pod', pod('p'), 'scoped'),
  pods('a second pod that ends', pod('p', sized({ cpu: '1m' }, {}, { activeDeadlineSeconds: 9 })), 'scoped'),
  pods('a lasting pod that does not fit', pod('p', sized({ cpu: '400m' }, {})), 'scoped'),
  pods('a lasting pod that fits', pod('p', sized({ cpu: '200m' }, {})), 'scoped'),
  pods('a second pod of a class', pod('p', sized({ cpu: '1m' }, {}, { priorityClassName: 'high' })), 'scoped'),
  {
    what: 'a pod that begins to end',
    verb: 'update',
    resource: 'pods',
    namespace: 'scoped',
    name: 'lasting',
    change: (object) => {
      spec(object)['activeDeadlineSeconds'] = 5
    },
  },
]

const byNode = (entry: Case): Case => ({ ...entry, what: `${entry.what}, by n1`, as: nodeUser })
const owner = (uid: string, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  name: 'n1',
  uid,
  controller: true,
  ...rest,
})
const mirrorPod = (podSpec: object, ownerReferences: object[]): KubeObject =>
  pod('m', podSpec, { annotations: mirror, ownerReferences })
const updateNode = (what: string, change: Change, name = 'n1', resource = 'nodes'): Case => ({
  what,
  verb: 'update',
  resource,
  name,
  change,
})
const labelled =
  (labels: Record<string, string>): Change =>
  (object) => {
    object.metadata = { ...object.metadata, labels: { ...object.metadata?.labels, ...labels } }
  }

/** Uids are known only when the cluster runs. */
export function nodeCases(
  uidOf: (resource: string, name: string) => string,
  requests: SigningRequests,
): readonly Case[] {
  const n1 = uidOf('nodes', 'n1')
  const tokenFor = (what: string, boundObjectRef: object | undefined, audiences: string[] = []): Case => ({
    what,
    verb: 'create',
    resource: 'serviceaccounts:token',
    namespace: 'work',
    name: 'default',
    object: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences, ...(boundObjectRef && { boundObjectRef }) },
    },
  })
  const bound = (name: string, uid = uidOf('pods', name)): object => ({ apiVersion: 'v1', kind: 'Pod', name, uid })
  const entries: readonly Case[] = [
    pods('an ordinary pod', pod('p', { nodeName: 'n1' })),
    pods('a mirror pod of another node', mirrorPod({ nodeName: 'n2' }, [])),
    pods('a mirror pod without an owner', mirrorPod({ nodeName: 'n1' }, [])),
    pods('a mirror pod with two owners', mirrorPod({ nodeName: 'n1' }, [owner(n1), owner('x', { controller: false })])),
    pods('a mirror pod of another owner', mirrorPod({ nodeName: 'n1' }, [owner(n1, { name: 'n2' })])),
    pods('a mirror pod without a controller', mirrorPod({ nodeName: 'n1' }, [owner(n1, { controller: false })])),
    pods('a mirror pod that blocks', mirrorPod({ nodeName: 'n1' }, [owner(n1, { blockOwnerDeletion: true })])),
    pods('a mirror pod of an earlier node', mirrorPod({ nodeName: 'n1' }, [owner('other')])),
    pods(
      'a mirror pod with a config map',
      mirrorPod({ nodeName: 'n1', volumes: [{ name: 'c', configMap: { name: 'c' } }] }, [owner(n1)]),
    ),
    pods(
      'a mirror pod with a claim',
      mirrorPod({ nodeName: 'n1', volumes: [{ name: 'c', persistentVolumeClaim: { claimName: 'c' } }] }, [owner(n1)]),
    ),
    pods(
      'a mirror pod with a CSI volume',
      mirrorPod({ nodeName: 'n1', volumes: [{ name: 'c', csi: { driver: 'example.com' } }] }, [owner(n1)]),
    ),
    pods(
      'a mirror pod of its own',
      mirrorPod({ nodeName: 'n1', volumes: [{ name: 'h', hostPath: { path: '/x' } }] }, [owner(n1)]),
    ),
    { what: 'the end of its pod', verb: 'delete', resource: 'pods', namespace: 'work', name: 'on-n1' },
    { what: 'the end of a pod elsewhere', verb: 'delete', resource: 'pods', namespace: 'work', name: 'on-n2' },
    {
      what: 'an update of a pod',
      verb: 'update',
      resource: 'pods',
      namespace: 'work',
      name: 'on-n1',
      change: labelled({ a: 'b' }),
    },
    {
      what: 'the status of its pod',
      verb: 'update',
      resource: 'pods:status',
      namespace: 'work',
      name: 'on-n1',
      change: (object) => {
        object['status'] = { ...(object['status'] as object), message: 'm' }
      },
    },
    {
      what: 'the status of a pod elsewhere',
      verb: 'update',
      resource: 'pods:status',
      namespace: 'work',
      name: 'on-n2',
      change: () => undefined,
    },
    {
      what: 'labels by the status of its pod',
      verb: 'update',
      resource: 'pods:status',
      namespace: 'work',
      name: 'on-n1',
      change: labelled({ a: 'b' }),
    },
    {
      what: 'claims by the status of its pod',
      verb: 'update',
      resource: 'pods:status',
      namespace: 'work',
      name: 'on-n1',
      change: (object) => {
        object['status'] = {
          ...(object['status'] as object),
          resourceClaimStatuses: [{ name: 'c', resourceClaimName: 'x' }],
        }
      },
    },
    {
      what: 'the eviction of a pod elsewhere',
      verb: 'create',
      resource: 'pods:eviction',
      namespace: 'work',
      name: 'on-n2',
      object: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'on-n2' } },
    },
    { what: 'another node', verb: 'create', resource: 'nodes', object: named('v1', 'Node', 'n3') },
    updateNode('an update of another node', () => undefined, 'n2'),
    updateNode('the end of its taints', (object) => {
      spec(object)['taints'] = []
    }),
    updateNode('an owner for its node', (object) => {
      object.metadata = {
        ...object.metadata,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }],
      }
    }),
    updateNode(
      'labels of its own',
      labelled({ 'example.com/a': 'b', 'kubernetes.io/hostname': 'n1', 'x.node.kubernetes.io/y': 'z' }),
    ),
    updateNode(
      'labels that attract pods',
      labelled({ 'node-restriction.kubernetes.io/a': 'b', 'a.node-restriction.kubernetes.io/c': 'd' }),
    ),
    updateNode('labels of roles', labelled({ 'node-role.kubernetes.io/control-plane': '', 'k8s.io/x': 'y' })),
    updateNode('labels by the status', labelled({ 'node-role.kubernetes.io/control-plane': '' }), 'n1', 'nodes:status'),
    { what: 'the end of another node', verb: 'delete', resource: 'nodes', name: 'n2' },
    {
      what: 'an update of a claim',
      verb: 'update',
      resource: 'persistentvolumeclaims',
      namespace: 'work',
      name: 'bound',
      change: labelled({ a: 'b' }),
    },
    {
      what: 'the conditions of a claim',
      verb: 'update',
      resource: 'persistentvolumeclaims:status',
      namespace: 'work',
      name: 'bound',
      change: (object) => {
        object['status'] = { ...(object['status'] as object), conditions: [{ type: 'Resizing', status: 'True' }] }
      },
    },
    {
      what: 'a lease elsewhere',
      verb: 'create',
      resource: leases,
      namespace: 'work',
      object: named('coordination.k8s.io/v1', 'Lease', 'n1'),
    },
    {
      what: 'the lease of another node',
      verb: 'create',
      resource: leases,
      namespace: 'kube-node-lease',
      object: named('coordination.k8s.io/v1', 'Lease', 'n2'),
    },
    {
      what: 'its lease',
      verb: 'create',
      resource: leases,
      namespace: 'kube-node-lease',
      object: named('coordination.k8s.io/v1', 'Lease', 'n1'),
    },
    {
      what: 'the CSINode of another node',
      verb: 'create',
      resource: csiNodes,
      object: named('storage.k8s.io/v1', 'CSINode', 'n2', { spec: { drivers: [] } }),
    },
    {
      what: 'its CSINode',
      verb: 'create',
      resource: csiNodes,
      object: named('storage.k8s.io/v1', 'CSINode', 'n1', { spec: { drivers: [] } }),
    },
    {
      what: 'the slice of another node',
      verb: 'create',
      resource: 'resource.k8s.io/v1/resourceslices',
      object: named('resource.k8s.io/v1', 'ResourceSlice', 's', {
        spec: { driver: 'd.example.com', nodeName: 'n2', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
      }),
    },
    tokenFor('a token for nobody', undefined),
    tokenFor('a token without a uid', { apiVersion: 'v1', kind: 'Pod', name: 'on-n1' }),
    tokenFor('a token for a pod that is not there', bound('none', 'u')),
    tokenFor('a token for an earlier pod', bound('on-n1', 'other')),
    tokenFor('a token for a pod elsewhere', bound('on-n2')),
    tokenFor('a token for two audiences', bound('on-n1'), ['vault', 'b']),
    tokenFor('a token for a strange audience', bound('on-n1'), ['strange']),
    {
      what: 'a certificate for itself',
      verb: 'create',
      resource: csrs,
      object: csr('c', requests.node, 'kubernetes.io/kube-apiserver-client-kubelet'),
    },
    {
      what: 'a certificate for somebody',
      verb: 'create',
      resource: csrs,
      object: csr('c', requests.ordinary, 'kubernetes.io/kube-apiserver-client-kubelet'),
    },
  ]
  return [...entries.map(byNode), { ...updateNode('a kubelet without a node', () => undefined), as: namelessNode }]
}

export function certificateCases(requests: SigningRequests): readonly Case[] {
  const judged =
    (type: string): Change =>
    (object) => {
      object['status'] = { conditions: [{ type, status: 'True', reason: 'r', message: 'm' }] }
    }
  return [
    {
      what: 'a certificate for administrators',
      verb: 'create',
      resource: csrs,
      object: csr('c', requests.masters, 'kubernetes.io/kube-apiserver-client'),
    },
    {
      what: 'a certificate for administrators of another signer',
      verb: 'create',
      resource: csrs,
      object: csr('c', requests.masters, 'example.com/own'),
    },
    {
      what: 'a certificate for somebody',
      verb: 'create',
      resource: csrs,
      object: csr('c', requests.ordinary, 'kubernetes.io/kube-apiserver-client'),
    },
    {
      what: 'an approval, by ed',
      as: ed,
      verb: 'update',
      resource: `${csrs}:approval`,
      name: 'client',
      change: judged('Approved'),
    },
    {
      what: 'an approval for an allowed signer, by ed',
      as: ed,
      verb: 'update',
      resource: `${csrs}:approval`,
      name: 'custom',
      change: judged('Approved'),
    },
    {
      what: 'a failure, by ed',
      as: ed,
      verb: 'update',
      resource: `${csrs}:status`,
      name: 'client',
      change: judged('Failed'),
    },
    {
      what: 'a failure for an allowed signer, by ed',
      as: ed,
      verb: 'update',
      resource: `${csrs}:status`,
      name: 'custom',
      change: judged('Failed'),
    },
    {
      what: 'no change of the status, by ed',
      as: ed,
      verb: 'update',
      resource: `${csrs}:status`,
      name: 'client',
      change: () => undefined,
    },
  ]
}

const role = (...verbs: string[]): KubeObject =>
  named(rbac, 'Role', 'r', { rules: [{ apiGroups: [''], resources: ['pods'], verbs }] })
const roleBinding = (kind: string, name: string): KubeObject =>
  named(rbac, 'RoleBinding', 'b', {
    subjects: [{ kind: 'User', name: 'x', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
  })
const POLICY_CASES: readonly Case[] = [
  {
    what: 'a role that ed holds',
    as: ed,
    verb: 'create',
    resource: `${rbac}/roles`,
    namespace: 'work',
    object: role('get'),
  },
  {
    what: 'a role that ed does not hold',
    as: ed,
    verb: 'create',
    resource: `${rbac}/roles`,
    namespace: 'work',
    object: role('get', 'delete'),
  },
  {
    what: 'a role that grows beyond ed',
    as: ed,
    verb: 'update',
    resource: `${rbac}/roles`,
    namespace: 'work',
    name: 'reader',
    change: (object) => {
      object['rules'] = role('delete')['rules']
    },
  },
  {
    what: 'a binding that ed holds',
    as: ed,
    verb: 'create',
    resource: `${rbac}/rolebindings`,
    namespace: 'work',
    object: roleBinding('Role', 'reader'),
  },
  {
    what: 'a binding that ed does not hold',
    as: ed,
    verb: 'create',
    resource: `${rbac}/rolebindings`,
    namespace: 'work',
    object: roleBinding('ClusterRole', 'any-object'),
  },
  {
    what: 'a binding to nothing',
    as: ed,
    verb: 'create',
    resource: `${rbac}/rolebindings`,
    namespace: 'work',
    object: roleBinding('Role', 'nothing'),
  },
  {
    what: 'any role by an administrator',
    verb: 'create',
    resource: `${rbac}/roles`,
    namespace: 'work',
    object: role('*'),
  },
]

export const STATIC_CASES: readonly Case[] = [
  ...NAMESPACE_CASES,
  ...ACCOUNT_CASES,
  ...LIMIT_CASES,
  ...PRIORITY_CASES,
  ...DEFAULT_CASES,
  ...QUOTA_CASES,
  ...POLICY_CASES,
]
