/**
 * The APIServices of the group versions that this server serves itself. They carry a label; an object of the same name
 * without it belongs to somebody who took the group version over, and is left alone.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import type { Priority } from '../discovery/order.ts'
import { sameValue } from '../kinds/equality.ts'
import { has, struct, structs } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'
import type { InternalClient } from './internal-client.ts'

const AUTO_MANAGED_LABEL = 'kube-aggregator.kubernetes.io/automanaged'

/** Written at each start; `true` would mean that the object follows a custom resource. */
const onStart = 'onstart'
const apiServices = builtIn('apiregistration.k8s.io/v1', 'apiservices')

export interface ServedGroupVersion {
  readonly group: string
  readonly version: string
  readonly priority: Priority
}

export async function writeApiServices(
  client: InternalClient,
  served: readonly ServedGroupVersion[],
  signal: AbortSignal,
): Promise<void> {
  // The group of the APIServices themselves can be served by nobody else, and needs none.
  const wanted = served.filter(({ group }) => group !== apiServices.group).map(apiServiceOf)
  const names = new Set(wanted.map(({ metadata }) => metadata?.name))
  const obsolete = client
    .list(apiServices)
    .filter((object) => isOnStart(object) && !names.has(object.metadata?.name))
    .map((object) => object.metadata?.name ?? '')
  await Promise.all([
    ...wanted.map((object) => writeApiService(client, object, signal)),
    ...obsolete.map((name) => client.delete({ resource: apiServices, namespace: '', name }, signal)),
  ])
}

function isOnStart(object: KubeObject): boolean {
  return object.metadata?.labels?.[AUTO_MANAGED_LABEL] === onStart
}

function apiServiceOf({ group, version, priority }: ServedGroupVersion): KubeObject {
  return {
    apiVersion: apiServices.apiVersion,
    kind: apiServices.kind,
    metadata: { name: `${version}.${group}`, labels: { [AUTO_MANAGED_LABEL]: onStart } },
    spec: presentFields({
      group: group || undefined,
      version,
      groupPriorityMinimum: priority.group,
      versionPriority: priority.version,
    }),
  }
}

async function writeApiService(client: InternalClient, wanted: KubeObject, signal: AbortSignal): Promise<void> {
  await client.ensure(apiServices, wanted, signal, (present) =>
    !isOnStart(present) || sameValue(present['spec'], wanted['spec'])
      ? undefined
      : { ...present, spec: wanted['spec'] },
  )
  const place = { resource: apiServices, namespace: '', name: wanted.metadata?.name ?? '' }
  await client.update(place, signal, (present) => withLocalAvailability(present, client.timestamp()), 'status')
}

function withLocalAvailability(present: KubeObject, now: string): KubeObject | undefined {
  const isRemote = has(struct(present, 'spec'), 'service')
  if (isRemote || structs(struct(present, 'status'), 'conditions').length > 0) return undefined
  const available = {
    type: 'Available',
    status: 'True',
    lastTransitionTime: now,
    reason: 'Local',
    message: 'Local APIServices are always available',
  }
  return { ...present, status: { conditions: [available] } }
}
