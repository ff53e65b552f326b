/**
 * Keeps the status of ResourceQuotas: what is granted and how much of it is in use. Admission does not need it, since it
 * counts the objects themselves; people and their dashboards read nothing else.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { listGroupVersions } from '../../kube/schema/catalogue.ts'
import type { Clock } from '../../runtime/clock.ts'
import { inTurns } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import { type Amounts, amountsOf, sameAmounts } from '../admission/amounts.ts'
import { lookupIn, RESOURCE_QUOTAS } from '../admission/lookup.ts'
import { NEVER_COUNTED, QUOTA_READING } from '../admission/quota/quota-facts.ts'
import { countedIn, NamespaceUsage } from '../admission/quota/usage.ts'
import { struct } from '../kinds/fields.ts'
import { builtIn, type Resource, storedResource } from '../objects/resource.ts'
import { type Controller, placeOf } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

/**
 * After it has counted, the controller rests this many times as long: a tenth of one core is enough for a namespace with
 * thousands of pods that change all the time, and a small one is counted again at once.
 */
export const QUOTA_REST_FACTOR = 9

const quotas = builtIn('v1', 'resourcequotas')

/** All quotas of a namespace together: they count the same objects. */
export function quotaStatusController(client: InternalClient, clock: Clock): Controller {
  const lookup = lookupIn(client.cache)
  const objects = countedIn(lookup)
  return {
    name: 'resource-quotas',
    sources: [quotas, ...countableResources()].map((resource) => ({
      resource,
      // Most objects are in a namespace without a quota.
      keysOf: (item) => {
        const { namespace } = placeOf(item)
        return lookup.count(RESOURCE_QUOTAS, namespace) > 0 ? [namespace] : []
      },
    })),
    async reconcile(namespace, signal) {
      const turns = new Turns(clock)
      const usage = new NamespaceUsage(objects, namespace, client.nowMs)
      let countedMs = 0
      for (const quota of lookup.reads(RESOURCE_QUOTAS, namespace, QUOTA_READING)) {
        const startedMs = clock.monotonicMs()
        const used = await inTurns(usage.of(quota), turns)
        countedMs += clock.monotonicMs() - startedMs
        if (turns.isOver) await turns.next()
        const change = (present: KubeObject): KubeObject | undefined => withStatus(present, used)
        const place = { resource: quotas, namespace, name: quota.name }
        await client.update(place, signal, change, 'status', { isComplete: true })
        if (turns.isOver) await turns.next()
        signal.throwIfAborted()
      }
      if (countedMs > 0) await clock.sleep(countedMs * QUOTA_REST_FACTOR, signal)
      return undefined
    },
  }
}

/** Once each, in the version that is kept. */
function countableResources(): Resource[] {
  const byPrefix = new Map<string, Resource>()
  for (const { group, version, resources } of listGroupVersions()) {
    for (const row of resources) {
      if (!row.namespaced || row.resource === NEVER_COUNTED || row.resource === quotas.row.resource) continue
      const resource = storedResource(group, version, row.resource)
      if (resource !== undefined && !byPrefix.has(resource.keyPrefix)) byPrefix.set(resource.keyPrefix, resource)
    }
  }
  return [...byPrefix.values()]
}

/** undefined when it says so already, in whichever spelling: a kube-controller-manager may be at work too. */
function withStatus(quota: KubeObject, used: Amounts): KubeObject | undefined {
  const status = struct(quota, 'status')
  const hard = amountsOf(struct(quota, 'spec'), 'hard')
  if (sameAmounts(amountsOf(status, 'hard'), hard) && sameAmounts(amountsOf(status, 'used'), used)) return undefined
  return { ...quota, status: { hard, used } }
}
