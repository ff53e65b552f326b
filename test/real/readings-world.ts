/** What both servers hold, and who may do what with it, when requests are read by two servers. */
import type { KubeObject } from '../../src/kube/objects.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Sight } from './twin-answers.ts'
import { type Caller, startTwins, type Twins } from './twins.ts'

export const NODE = 'system:node:edge-1'

export const CALLERS: readonly Caller[] = [
  { name: 'one-name' },
  { name: 'in-one' },
  { name: 'updater' },
  { name: 'impersonator' },
  { name: 'any-user' },
  { name: 'nobody' },
  { name: NODE, groups: ['system:nodes'] },
]

const groups = [
  '',
  'apps',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'rbac.authorization.k8s.io',
  'node.k8s.io',
]

interface Rule {
  readonly verbs: readonly string[]
  readonly resources: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resourceNames?: readonly string[]
}

const kept = ['secrets', 'configmaps', 'leases', 'pods', 'services']

const rights: Readonly<Record<string, readonly Rule[]>> = {
  'one-name': [
    {
      verbs: ['get', 'list', 'watch', 'delete', 'deletecollection', 'update', 'patch'],
      resources: kept,
      resourceNames: ['allowed', 'a:b', '..'],
    },
  ],
  updater: [{ verbs: ['get', 'update', 'patch'], resources: ['*'] }],
  impersonator: [
    {
      verbs: ['impersonate'],
      resources: ['users'],
      resourceNames: ['alice', 'system:anonymous', 'system:node:edge-1'],
    },
    {
      verbs: ['impersonate'],
      resources: ['groups'],
      resourceNames: ['developers', 'system:authenticated', 'system:unauthenticated'],
    },
    { verbs: ['impersonate'], resources: ['serviceaccounts'], resourceNames: ['default'] },
    {
      verbs: ['impersonate'],
      resources: ['userextras/scopes', 'uids'],
      apiGroups: ['authentication.k8s.io'],
      resourceNames: ['view', 'u-1'],
    },
  ],
  'any-user': [{ verbs: ['impersonate'], resources: ['users'] }],
}

const rbac = '/apis/rbac.authorization.k8s.io/v1'

async function bind(twins: Twins, user: string, rules: readonly Rule[], namespace?: string): Promise<void> {
  const root = namespace === undefined ? rbac : `${rbac}/namespaces/${namespace}`
  const [role, binding] = namespace === undefined ? ['ClusterRole', 'ClusterRoleBinding'] : ['Role', 'RoleBinding']
  const kindPath = (kind: string): string => `${root}/${kind.toLowerCase()}s`
  await twins.create(kindPath(role), {
    metadata: { name: user },
    rules: rules.map((rule) => ({ apiGroups: groups, ...rule })),
  })
  await twins.create(kindPath(binding), {
    metadata: { name: user },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role, name: user },
  })
}

const NAMESPACES = ['one', 'two'] as const
const nodes = ['edge-1', 'edge-2'] as const
const names = ['allowed', 'other', 'with.dots'] as const

function pod(name: string, nodeName: string, secretName: string): object {
  const volumes = [{ name: 'v', secret: { secretName } }]
  return {
    metadata: { name, labels: { app: name } },
    spec: { nodeName, volumes, containers: [{ name: 'c', image: 'i' }] },
  }
}

/** Of one namespace, by path. */
function objectsIn(namespace: string): [path: string, object: object][] {
  const core = `/api/v1/namespaces/${namespace}`
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const labels = (name: string): object => ({ metadata: { name, labels: { app: name } } })
  return [
    ...names.flatMap((name): [string, object][] => [
      [`${core}/secrets`, labels(name)],
      [`${core}/configmaps`, { ...labels(name), data: { a: 'b' } }],
      [leases, { ...labels(name), spec: { holderIdentity: 'x' } }],
    ]),
    [`${core}/pods`, pod('allowed', 'edge-1', 'allowed')],
    [`${core}/pods`, pod('other', 'edge-2', 'other')],
    [`${core}/services`, { ...labels('allowed'), spec: { clusterIP: 'None', ports: [{ port: 80 }] } }],
  ]
}

/** Only objects that the suite has made: in its namespaces, the namespaces themselves, and its nodes. */
export const SIGHT: Sight = {
  isMade({ metadata }: KubeObject): boolean {
    const { namespace, name = '' } = metadata ?? {}
    if (namespace !== undefined) return (NAMESPACES as readonly string[]).includes(namespace)
    return /^(one|two|edge-[12]|.*-made)$/.test(name)
  },
}

export async function startReadings(): Promise<Twins> {
  const twins = await startTwins(CALLERS)
  try {
    await fill(twins)
  } catch (error) {
    await twins.stop()
    throw error
  }
  return twins
}

async function fill(twins: Twins): Promise<void> {
  for (const namespace of NAMESPACES) {
    await twins.create('/api/v1/namespaces', { metadata: { name: namespace } })
    await twins.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
  }
  for (const name of nodes) await twins.create('/api/v1/nodes', { metadata: { name } })
  for (const [path, object] of NAMESPACES.flatMap(objectsIn)) await twins.create(path, object)
  for (const [user, rules] of Object.entries(rights)) await bind(twins, user, rules)
  await bind(twins, 'in-one', [{ verbs: ['get', 'list', 'watch'], resources: kept }], 'one')
  await settle(twins)
}

/** Puts back what a request has changed, so that both hold the same again. */
export async function restore(twins: Twins): Promise<void> {
  const wanted = NAMESPACES.flatMap(objectsIn)
  for (const collection of new Set(wanted.map(([path]) => path))) await clear(twins, collection)
  for (const [path, object] of wanted) await twins.create(path, object)
  for (const name of nodes)
    await twins.askBoth({ method: 'POST', target: '/api/v1/nodes', by: 'admin', body: { metadata: { name } } })
  await settle(twins)
}

async function clear(twins: Twins, collection: string): Promise<void> {
  const lists = await twins.askBoth({ method: 'GET', target: collection, by: 'admin' })
  for (const twin of ['real', 'ours'] as const) {
    const { items = [] } = JSON.parse(lists[twin].text) as { items?: KubeObject[] }
    for (const { metadata } of items) {
      const target = `${collection}/${metadata?.name}`
      const released = { metadata: { finalizers: null } }
      const type = 'application/merge-patch+json'
      if (metadata?.finalizers !== undefined)
        await twins.ask(twin, { method: 'PATCH', target, by: 'admin', body: released, type })
      await twins.ask(twin, { method: 'DELETE', target: `${target}?gracePeriodSeconds=0`, by: 'admin' })
    }
  }
}

/** A server believes in a role a moment after it was made, and in a pod of a node. */
async function settle(twins: Twins): Promise<void> {
  const first: readonly [by: string, target: string][] = [
    ['one-name', '/api/v1/namespaces/two/secrets/allowed'],
    ['in-one', '/api/v1/namespaces/one/secrets/allowed'],
    ['updater', '/api/v1/namespaces/one/secrets/allowed'],
    [NODE, '/api/v1/namespaces/two/secrets/allowed'],
  ]
  for (const [by, target] of first) {
    for (const twin of ['real', 'ours'] as const) {
      await granted(() => twins.ask(twin, { method: 'GET', target, by }), 200)
    }
  }
  const headers = [['impersonate-user', 'alice']] as const
  for (const by of ['impersonator', 'any-user']) {
    const asked = { method: 'POST', target: '/apis/authentication.k8s.io/v1/selfsubjectreviews', by, headers, body: {} }
    for (const twin of ['real', 'ours'] as const) {
      await granted(() => twins.ask(twin, asked), 201)
    }
  }
}

async function granted(ask: () => Promise<{ status: number }>, status: number): Promise<void> {
  while ((await ask()).status !== status) await systemClock.sleep(50)
}
