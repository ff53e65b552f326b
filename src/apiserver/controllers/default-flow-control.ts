/** The priority levels and flow schemas that a fresh API server has: compact tables, and the objects made from them. */

import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'

export const FLOW_CONTROL_API_VERSION = 'flowcontrol.apiserver.k8s.io/v1'
/** `true` lets the server keep the spec up to date; an administrator sets `false` to keep it as it is. */
export const AUTO_UPDATE_SPEC_ANNOTATION = 'apf.kubernetes.io/autoupdate-spec'

const metadata = (name: string): { name: string; annotations: Record<string, string> } => ({
  name,
  annotations: { [AUTO_UPDATE_SPEC_ANNOTATION]: 'true' },
})

interface Level {
  readonly name: string
  readonly shares: number
  readonly lendablePercent: number
  /** Absent: what does not fit is rejected. */
  readonly queues?: number
  readonly handSize?: number
}

const queueLengthLimit = 50

const limitedLevels: readonly Level[] = [
  { name: 'catch-all', shares: 5, lendablePercent: 0 },
  { name: 'global-default', shares: 20, lendablePercent: 50, queues: 128, handSize: 6 },
  { name: 'leader-election', shares: 10, lendablePercent: 0, queues: 16, handSize: 4 },
  { name: 'node-high', shares: 40, lendablePercent: 25, queues: 64, handSize: 6 },
  { name: 'system', shares: 30, lendablePercent: 33, queues: 64, handSize: 6 },
  { name: 'workload-high', shares: 40, lendablePercent: 50, queues: 128, handSize: 6 },
  { name: 'workload-low', shares: 100, lendablePercent: 90, queues: 128, handSize: 6 },
]

export function defaultPriorityLevels(): KubeObject[] {
  const typed = { apiVersion: FLOW_CONTROL_API_VERSION, kind: 'PriorityLevelConfiguration' }
  const exempt = { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }
  return [
    { ...typed, metadata: metadata('exempt'), spec: exempt },
    ...limitedLevels.map((level) => ({ ...typed, metadata: metadata(level.name), spec: limitedSpec(level) })),
  ]
}

function limitedSpec({ shares, lendablePercent, queues, handSize }: Level): object {
  const limitResponse =
    queues === undefined ? { type: 'Reject' } : { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } }
  return { type: 'Limited', limited: { nominalConcurrencyShares: shares, limitResponse, lendablePercent } }
}

const everyResource = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
const everything = {
  resourceRules: [everyResource],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}
const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] }

const user = (name: string): object => ({ kind: 'User', user: { name } })
const group = (name: string): object => ({ kind: 'Group', group: { name } })
const systemAccounts = { kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } }
const everybody = [group('system:unauthenticated'), group('system:authenticated')]
const controllerManager = user('system:kube-controller-manager')
const scheduler = user('system:kube-scheduler')

interface Schema {
  readonly name: string
  readonly precedence: number
  readonly level: string
  readonly by?: 'ByUser' | 'ByNamespace'
  readonly subjects: readonly object[]
  readonly rules: object
}

/** In the order in which they are tried. */
const schemas: readonly Schema[] = [
  { name: 'exempt', precedence: 1, level: 'exempt', subjects: [group('system:masters')], rules: everything },
  {
    name: 'probes',
    precedence: 2,
    level: 'exempt',
    subjects: everybody,
    rules: { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }] },
  },
  {
    name: 'system-leader-election',
    precedence: 100,
    level: 'leader-election',
    by: 'ByUser',
    subjects: [controllerManager, scheduler, systemAccounts],
    rules: { resourceRules: [{ verbs: ['get', 'create', 'update'], ...leases }] },
  },
  {
    name: 'system-node-high',
    precedence: 400,
    level: 'node-high',
    by: 'ByUser',
    subjects: [group('system:nodes')],
    rules: {
      resourceRules: [
        { ...everyResource, apiGroups: [''], resources: ['nodes', 'nodes/status'] },
        { verbs: ['*'], ...leases },
      ],
    },
  },
  schemaOfAll('system-nodes', 500, 'system', 'ByUser', [group('system:nodes')]),
  schemaOfAll('kube-controller-manager', 800, 'workload-high', 'ByNamespace', [controllerManager]),
  schemaOfAll('kube-scheduler', 800, 'workload-high', 'ByNamespace', [scheduler]),
  schemaOfAll('kube-system-service-accounts', 900, 'workload-high', 'ByNamespace', [systemAccounts]),
  schemaOfAll('service-accounts', 9_000, 'workload-low', 'ByUser', [group('system:serviceaccounts')]),
  schemaOfAll('global-default', 9_900, 'global-default', 'ByUser', everybody),
  schemaOfAll('catch-all', 10_000, 'catch-all', 'ByUser', everybody),
]

function schemaOfAll(
  name: string,
  precedence: number,
  level: string,
  by: 'ByUser' | 'ByNamespace',
  subjects: readonly object[],
): Schema {
  return { name, precedence, level, by, subjects, rules: everything }
}

export function defaultFlowSchemas(): KubeObject[] {
  return schemas.map(({ name, precedence, level, by, subjects, rules }) => ({
    apiVersion: FLOW_CONTROL_API_VERSION,
    kind: 'FlowSchema',
    metadata: metadata(name),
    spec: presentFields({
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      distinguisherMethod: by && { type: by },
      rules: [{ subjects: [...subjects], ...rules }],
    }),
  }))
}
