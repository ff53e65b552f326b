/** Writes whose rights or meaning are in doubt, in the order in which they are sent: what they leave behind counts too. */
import type { Asked } from './twins.ts'

interface Kind {
  readonly collection: string
  /** Without metadata. */
  readonly content?: object
}

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const one = '/api/v1/namespaces/one'
const reference = { kind: 'Pod', namespace: 'one', name: 'allowed', apiVersion: 'v1' }
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kube-scheduler' }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

/** Kinds that an update may create, and kinds that it may not. */
const kinds: readonly Kind[] = [
  { collection: '/apis/coordination.k8s.io/v1/namespaces/one/leases', content: { spec: { holderIdentity: 'x' } } },
  { collection: `${one}/services`, content: { spec: { clusterIP: 'None', ports: [{ port: 80 }] } } },
  { collection: `${one}/endpoints` },
  { collection: `${one}/events`, content: { involvedObject: reference } },
  {
    collection: '/apis/events.k8s.io/v1/namespaces/one/events',
    content: {
      regarding: reference,
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'a.io/b',
      reportingInstance: 'c',
      action: 'd',
      reason: 'e',
      type: 'Normal',
    },
  },
  { collection: `${one}/limitranges`, content: { spec: { limits: [] } } },
  { collection: `${rbac}/namespaces/one/roles`, content: { rules: [] } },
  { collection: `${rbac}/namespaces/one/rolebindings`, content: { roleRef, subjects: [] } },
  { collection: `${rbac}/clusterroles`, content: { rules: [] } },
  { collection: `${rbac}/clusterrolebindings`, content: { roleRef, subjects: [] } },
  { collection: '/apis/node.k8s.io/v1/runtimeclasses', content: { handler: 'h' } },
  { collection: `${one}/configmaps` },
  { collection: `${one}/secrets` },
  { collection: `${one}/serviceaccounts` },
  { collection: `${one}/resourcequotas`, content: { spec: {} } },
  { collection: `${one}/pods`, content: { spec: { containers: [{ name: 'c', image: 'i' }] } } },
  {
    collection: `${one}/persistentvolumeclaims`,
    content: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  },
  {
    collection: '/apis/apps/v1/namespaces/one/deployments',
    content: { spec: { selector: { matchLabels: { a: 'b' } }, template } },
  },
  { collection: '/apis/apps/v1/namespaces/one/controllerrevisions', content: { revision: 1 } },
  {
    collection: '/apis/batch/v1/namespaces/one/jobs',
    content: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
  },
  {
    collection: '/apis/discovery.k8s.io/v1/namespaces/one/endpointslices',
    content: { addressType: 'IPv4', endpoints: [] },
  },
  { collection: '/apis/policy/v1/namespaces/one/poddisruptionbudgets', content: { spec: { minAvailable: 1 } } },
  { collection: '/apis/networking.k8s.io/v1/namespaces/one/networkpolicies', content: { spec: { podSelector: {} } } },
  { collection: '/apis/networking.k8s.io/v1/ingressclasses', content: { spec: { controller: 'a.io/b' } } },
  { collection: '/apis/scheduling.k8s.io/v1/priorityclasses', content: { value: 1 } },
  { collection: '/apis/storage.k8s.io/v1/storageclasses', content: { provisioner: 'a.io/b' } },
  { collection: '/apis/storage.k8s.io/v1/csinodes', content: { spec: { drivers: [] } } },
  { collection: '/apis/storage.k8s.io/v1/csidrivers', content: { spec: {} } },
  { collection: '/api/v1/nodes' },
  { collection: '/api/v1/namespaces' },
]

const name = 'new-made'

function put(collection: string, by: string, body: object, query = ''): Asked {
  return { method: 'PUT', target: `${collection}/${name}${query}`, by, body }
}

function updatesOf({ collection, content = {} }: Kind): Asked[] {
  const object = (metadata: object = {}): object => ({ metadata: { name, ...metadata }, ...content })
  const target = `${collection}/${name}`
  return [
    put(collection, 'nobody', object()),
    put(collection, 'updater', object()),
    put(collection, 'updater', object(), '?dryRun=All'),
    put(collection, 'admin', object(), '?dryRun=All'),
    put(collection, 'admin', object({ name: 'other' })),
    put(collection, 'admin', object({ resourceVersion: '5' })),
    put(collection, 'admin', object({ uid: 'some-uid' })),
    { method: 'PUT', target: `${target}/status`, by: 'admin', body: object() },
    {
      method: 'PATCH',
      target,
      by: 'updater',
      body: { metadata: { labels: { a: 'b' } } },
      type: 'application/merge-patch+json',
    },
    { method: 'GET', target, by: 'admin' },
    put(collection, 'admin', object()),
    put(collection, 'updater', object()),
    { method: 'DELETE', target: `${target}?gracePeriodSeconds=0`, by: 'updater' },
    { method: 'DELETE', target: `${target}?gracePeriodSeconds=0`, by: 'admin' },
    put(collection, 'updater', object()),
  ]
}

export const UPDATES: readonly (readonly [string, readonly Asked[]])[] = kinds.map((kind) => [
  kind.collection,
  updatesOf(kind),
])

/** Queries and bodies of deletions and creations; nothing of this is carried out. */
const deleteQueries = [
  'gracePeriodSeconds=0',
  'gracePeriodSeconds=-1',
  'gracePeriodSeconds=abc',
  'gracePeriodSeconds=',
  'gracePeriodSeconds=9999999999999999999',
  'gracePeriodSeconds=1&gracePeriodSeconds=x',
  'propagationPolicy=Orphan',
  'propagationPolicy=orphan',
  'propagationPolicy=',
  'propagationPolicy=Background&orphanDependents=true',
  'orphanDependents=true',
  'orphanDependents=x',
  'preconditions=x',
  'uid=x',
  'uid=',
  'resourceVersion=',
  'resourceVersion=1',
  'limit=x',
  'fieldSelector=metadata.name%3Dallowed',
  'fieldSelector=metadata.name%3D',
  'fieldSelector=x',
  'labelSelector=app%3Dallowed',
  'labelSelector=%3D',
  'continue=x',
  'watch=1',
  'sendInitialEvents=true',
  'resourceVersionMatch=Exact',
  'ignoreStoreReadErrorWithClusterBreakingPotential=true',
  'ignoreStoreReadErrorWithClusterBreakingPotential=x',
  'unknown=x',
  ';',
]
const dryRuns = [
  'dryRun=All',
  'dryRun=',
  'dryRun',
  'dryRun=all',
  'dryRun=All&dryRun=All',
  'dryRun=All&dryRun=x',
  'dryRun=x&dryRun=All',
  'dryRun=All;',
  'dryRun=None',
]
const validations = [
  'fieldValidation=Strict',
  'fieldValidation=Ignore',
  'fieldValidation=Warn',
  'fieldValidation=',
  'fieldValidation=odd',
  'fieldValidation=strict',
  'fieldValidation=Strict&fieldValidation=Ignore',
  'fieldManager=',
  `fieldManager=${'a'.repeat(129)}`,
  'fieldManager=%00',
  'force=true',
  'force=x',
  'pretty=x',
]
/** A body counts alone: what the query says besides it is not read. */
const dryBodies: readonly object[] = [
  {},
  { kind: 'DeleteOptions' },
  { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
  { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: -1 },
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'apps/v1', kind: 'DeleteOptions' },
  { propagationPolicy: 'odd' },
  { propagationPolicy: '' },
  { propagationPolicy: 'Orphan', orphanDependents: true },
  { orphanDependents: true },
  { dryRun: ['x'] },
  { preconditions: { uid: 'x' } },
  { preconditions: { resourceVersion: '1' } },
  { unknown: 1 },
]
const oddBodies = ['', 'x', 'null', '[]', '{"gracePeriodSeconds":"x"}', '{"dryRun":"All"}']

export const DELETIONS: readonly Asked[] = [
  ...deleteQueries.flatMap((query) =>
    ['admin', 'one-name'].flatMap((by): Asked[] => [
      { method: 'DELETE', target: `${one}/secrets?${query}&dryRun=All`, by },
      { method: 'DELETE', target: `${one}/secrets/allowed?${query}&dryRun=All`, by },
      { method: 'DELETE', target: `${one}/secrets/gone?${query}&dryRun=All`, by },
      { method: 'DELETE', target: `/api/v1/namespaces//secrets?${query}&dryRun=All`, by },
    ]),
  ),
  ...dryBodies.flatMap((body) =>
    ['secrets', 'secrets/allowed', 'pods/allowed'].map(
      (path): Asked => ({
        method: 'DELETE',
        target: `${one}/${path}`,
        by: 'admin',
        body: { dryRun: ['All'], ...body },
      }),
    ),
  ),
  ...oddBodies.flatMap((body) =>
    [`${one}/secrets/gone`, '/api/v1/namespaces/three/secrets'].map(
      (target): Asked => ({ method: 'DELETE', target, by: 'admin', body }),
    ),
  ),
  ...dryRuns.flatMap((query): Asked[] => [
    { method: 'DELETE', target: `${one}/secrets/gone?${query}`, by: 'admin' },
    { method: 'DELETE', target: `/api/v1/namespaces/three/secrets?${query}`, by: 'admin' },
  ]),
]

const fresh = { metadata: { name: 'fresh' } }

export const CREATIONS: readonly Asked[] = [
  ...[...dryRuns, ...validations].flatMap((query): Asked[] => [
    { method: 'POST', target: `${one}/configmaps?${query}&dryRun=All`, by: 'admin', body: { ...fresh, unknown: 1 } },
    {
      method: 'PUT',
      target: `${one}/configmaps/allowed?${query}&dryRun=All`,
      by: 'admin',
      body: { metadata: { name: 'allowed' }, unknown: 1 },
    },
    {
      method: 'PATCH',
      target: `${one}/configmaps/allowed?${query}&dryRun=All`,
      by: 'admin',
      body: { unknown: 1 },
      type: 'application/merge-patch+json',
    },
  ]),
  ...[
    '/api/v1/namespaces//configmaps',
    `${one}/configmaps/`,
    '/api/v1/configmaps',
    `${one}/configmaps//`,
    `${one}/configmaps/x`,
    '/api/v1/namespaces/three/configmaps',
    '/api/v1/namespaces/../configmaps',
  ].flatMap((path) =>
    [
      fresh,
      { metadata: { name: 'fresh', namespace: 'one' } },
      { metadata: { name: 'fresh', namespace: 'two' } },
    ].flatMap((body) =>
      ['POST', 'PUT', 'PATCH'].map(
        (method): Asked => ({
          method,
          target: `${path}?dryRun=All`,
          by: 'admin',
          body,
          ...(method === 'PATCH' ? { type: 'application/merge-patch+json' } : {}),
        }),
      ),
    ),
  ),
  ...['..', '.', 'a/b', 'a%b', '', 'UPPER', 'a b', 'a:b', 'ä', '-a', 'a'.repeat(254), '\u0000'].flatMap((odd) =>
    [
      `${one}/configmaps`,
      `${rbac}/clusterroles`,
      '/apis/coordination.k8s.io/v1/namespaces/one/leases',
      '/api/v1/nodes',
      `${one}/events`,
    ].map(
      (collection): Asked => ({
        method: 'POST',
        target: `${collection}?dryRun=All`,
        by: 'admin',
        body: { metadata: { name: odd }, ...(collection.endsWith('events') ? { involvedObject: reference } : {}) },
      }),
    ),
  ),
  ...['..', '.', '%2e%2e', 'a%25b', 'UPPER', 'a:b', 'a%20b'].flatMap((odd) =>
    [`${one}/configmaps`, `${rbac}/clusterroles`, '/apis/coordination.k8s.io/v1/namespaces/one/leases'].flatMap(
      (collection): Asked[] => [
        {
          method: 'PUT',
          target: `${collection}/${odd}?dryRun=All`,
          by: 'admin',
          body: { metadata: { name: decodeURIComponent(odd) } },
        },
        {
          method: 'PUT',
          target: `${collection}/${odd}?dryRun=All`,
          by: 'one-name',
          body: { metadata: { name: decodeURIComponent(odd) } },
        },
        { method: 'DELETE', target: `${collection}/${odd}?dryRun=All`, by: 'admin' },
        {
          method: 'PATCH',
          target: `${collection}/${odd}?dryRun=All`,
          by: 'admin',
          body: {},
          type: 'application/merge-patch+json',
        },
      ],
    ),
  ),
]
