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
import { lookupIn } from '../admission/lookup.ts'
import { evaluatorOf, hardOf, NEVER_COUNTED, quotaUsageSteps } from '../admission/quota/usage.ts'
import { type Resource, storedResource } from '../core/resource.ts'
import { struct } from '../kinds/fields.ts'
import { type Controller, placeOf, type Source } from './controller.ts'
import { builtIn, type InternalClient } from './internal-client.ts'

/**
 * After it has counted, the controller rests this many times as long: a tenth of one core is enough for a namespace with
 * thousands of pods that change all the time, and a small one is counted again at once.
 */
export const QUOTA_REST_FACTOR = 9

const quotas = builtIn('v1', 'resourcequotas')

export function quotaStatusController(client: InternalClient, clock: Clock): Controller {
  const lookup = lookupIn(client.cache)
  return {
    name: 'resource-quotas',
    sources: [
      { resource: quotas, keysOf: (item) => [keyOf(placeOf(item))] },
      ...countableResources().map((resource) => sourceOf(client, resource)),
    ],
    async reconcile(key, signal) {
      const [namespace = '', name = ''] = key.split('/')
      let countedMs = 0
      const counted = async (quota: KubeObject): Promise<KubeObject | undefined> => {
        const startedMs = clock.monotonicMs()
        const used = await inTurns(quotaUsageSteps(quota, lookup, client.nowMs), new Turns(clock))
        countedMs += clock.monotonicMs() - startedMs
        return withStatus(quota, hardOf(quota), used)
      }
      await client.update({ resource: quotas, namespace, name }, signal, counted, 'status')
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

/** Most objects are in a namespace without a quota, or under one that does not count them. */
function sourceOf(client: InternalClient, resource: Resource): Source {
  const evaluator = evaluatorOf(resource.groupResource)
  return {
    resource,
    keysOf(item) {
      const { namespace } = placeOf(item)
      return client
        .list(quotas, namespace)
        .filter((quota) => Object.keys(hardOf(quota)).some((name) => evaluator.covers(name)))
        .map((quota) => keyOf({ namespace, name: quota.metadata?.name ?? '' }))
    },
  }
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`
}

/** undefined when it says so already, in whichever spelling: a kube-controller-manager may be at work too. */
function withStatus(quota: KubeObject, hard: Amounts, used: Amounts): KubeObject | undefined {
  const status = struct(quota, 'status')
  if (sameAmounts(amountsOf(status, 'hard'), hard) && sameAmounts(amountsOf(status, 'used'), used)) return undefined
  return { ...quota, status: { hard, used } }
}
