/**
 * What a fresh API server writes into its store before anybody is served, and what each start completes: namespaces, the
 * default policy, system priorities, flow control, its own APIServices, and what extension servers need to trust it.
 * Several servers on one store may do so at once.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { defaultPolicy } from '../auth/rbac/bootstrap-policy.ts'
import { RBAC_API_VERSION, type RbacResource } from '../auth/rbac/objects.ts'
import { type PolicyChange, reconcile } from '../auth/rbac/reconcile.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct, structs, text } from '../kinds/fields.ts'
import { builtIn, type Resource } from '../objects/resource.ts'
import { type ServedGroupVersion, writeApiServices } from './api-services.ts'
import { writeAggregations } from './cluster-roles.ts'
import {
  AUTO_UPDATE_SPEC_ANNOTATION,
  defaultFlowSchemas,
  defaultPriorityLevels,
  FLOW_CONTROL_API_VERSION,
} from './default-flow-control.ts'
import type { InternalClient } from './internal-client.ts'
import { NAMESPACES } from './namespace-state.ts'
import { type Trust, writeTrustConfigMap } from './trust-config-map.ts'

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const

export interface BootstrapOptions {
  readonly client: InternalClient
  readonly served: readonly ServedGroupVersion[]
  readonly trust: Trust
  /** Where ClusterIPs come from, such as `10.96.0.0/16`. */
  readonly serviceCidr: string
}

export async function bootstrap(options: BootstrapOptions, signal: AbortSignal): Promise<void> {
  const { client, served, trust, serviceCidr } = options
  await Promise.all(SYSTEM_NAMESPACES.map((name) => createIfAbsent(client, NAMESPACES, namespaceObject(name), signal)))
  // Side by side, so that the store can flush many of them at once.
  await Promise.all([
    writePolicy(client, signal),
    ...systemPriorities().map((priority) => createIfAbsent(client, priorityClasses, priority, signal)),
    writeFlowControl(client, signal),
    writeApiServices(client, served, signal),
    writeTrustConfigMap(client, trust, signal),
    writeServiceCidr(client, serviceCidr, signal),
    createIfAbsent(client, configMaps, tokenTracking(client.timestamp()), signal),
  ])
}

async function createIfAbsent(
  client: InternalClient,
  resource: Resource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  await client.ensure(resource, object, signal, () => undefined)
}

function namespaceObject(name: string): KubeObject {
  const labels = { 'kubernetes.io/metadata.name': name }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

const configMaps = builtIn('v1', 'configmaps')

/** Since when unused tokens in Secrets can be told from used ones; the controller that removes them waits for it. */
function tokenTracking(now: string): KubeObject {
  const metadata = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { since: now.slice(0, 'YYYY-MM-DD'.length) } }
}

async function writePolicy(client: InternalClient, signal: AbortSignal): Promise<void> {
  const resourceOf = (name: RbacResource): Resource => builtIn(RBAC_API_VERSION, name)
  const changes = reconcile(defaultPolicy(), (resource, namespace, name) =>
    client.get({ resource: resourceOf(resource), namespace, name }),
  )
  await Promise.all(changes.map((change) => applyPolicy(client, resourceOf(change.resource), change, signal)))
  // The rules of admin, edit and view, before anybody asks what they may.
  await writeAggregations(client, signal)
}

async function applyPolicy(
  client: InternalClient,
  resource: Resource,
  { action, object }: PolicyChange,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name = '' } = object.metadata ?? {}
  const place = { resource, namespace, name }
  if (action === 'update') {
    await client.update(place, signal, () => object)
    return
  }
  if (action === 'recreate') await client.delete(place, signal)
  await client.create(resource, object, signal)
}

const priorityClasses = builtIn('scheduling.k8s.io/v1', 'priorityclasses')

function systemPriorities(): KubeObject[] {
  const make = (name: string, value: number, description: string): KubeObject => ({
    apiVersion: priorityClasses.apiVersion,
    kind: 'PriorityClass',
    metadata: { name },
    value,
    description,
  })
  return [
    make('system-node-critical', 2_000_001_000, 'For system pods that a node cannot do without.'),
    make('system-cluster-critical', 2_000_000_000, 'For system pods that the cluster needs, on whichever node.'),
  ]
}

async function writeFlowControl(client: InternalClient, signal: AbortSignal): Promise<void> {
  const levels = builtIn(FLOW_CONTROL_API_VERSION, 'prioritylevelconfigurations')
  const schemas = builtIn(FLOW_CONTROL_API_VERSION, 'flowschemas')
  const write = (resource: Resource, object: KubeObject): Promise<void> =>
    client.ensure(resource, object, signal, (present) => withCurrentSpec(present, object))
  await Promise.all(defaultPriorityLevels().map((level) => write(levels, level)))
  await Promise.all(
    defaultFlowSchemas().map(async (schema) => {
      await write(schemas, schema)
      const place = { resource: schemas, namespace: '', name: schema.metadata?.name ?? '' }
      await client.update(place, signal, (present) => withLevelFound(present, client.timestamp()), 'status')
    }),
  )
}

function withCurrentSpec(present: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const isOurs = present.metadata?.annotations?.[AUTO_UPDATE_SPEC_ANNOTATION] === 'true'
  return !isOurs || sameValue(present['spec'], wanted['spec']) ? undefined : { ...present, spec: wanted['spec'] }
}

function withLevelFound(schema: KubeObject, now: string): KubeObject | undefined {
  const status = struct(schema, 'status')
  if (structs(status, 'conditions').some((condition) => text(condition, 'type') === 'Dangling')) return undefined
  const level = text(struct(struct(schema, 'spec'), 'priorityLevelConfiguration'), 'name')
  const condition = {
    type: 'Dangling',
    status: 'False',
    lastTransitionTime: now,
    reason: 'Found',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} and it exists`,
  }
  return { ...schema, status: { ...status, conditions: [...structs(status, 'conditions'), condition] } }
}

/** The first range of ClusterIPs, under the name that the API server gives its own. */
async function writeServiceCidr(client: InternalClient, cidr: string, signal: AbortSignal): Promise<void> {
  const resource = builtIn('networking.k8s.io/v1', 'servicecidrs')
  const place = { resource, namespace: '', name: 'kubernetes' }
  const object = {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: { name: place.name },
    spec: { cidrs: [cidr] },
  }
  await createIfAbsent(client, resource, object, signal)
  await client.update(place, signal, (present) => withReadyRange(present, client.timestamp()), 'status')
}

function withReadyRange(range: KubeObject, now: string): KubeObject | undefined {
  if (structs(struct(range, 'status'), 'conditions').length > 0) return undefined
  const message = 'Kubernetes default Service CIDR is ready'
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: now, reason: '', message }
  return { ...range, status: { conditions: [ready] } }
}
