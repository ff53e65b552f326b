/** How much of a quota is used: always worked out from the objects that are there, so it cannot drift from them. */
import type { KubeObject } from '../../../kube/objects.ts'
import { listGroupVersions } from '../../../kube/schema/catalogue.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import { finished, type Steps } from '../../../runtime/steps.ts'
import { struct } from '../../kinds/fields.ts'
import { type Amounts, addAmounts, amountsOf, maskAmounts } from '../amounts.ts'
import type { ObjectLookup } from '../lookup.ts'
import { countEvaluator, countedResource, type QuotaEvaluator } from './evaluator.ts'
import { POD_EVALUATOR } from './pod-evaluator.ts'
import { scopesOf } from './scopes.ts'
import { SERVICE_EVALUATOR } from './service-evaluator.ts'
import { CLAIM_EVALUATOR } from './storage-evaluator.ts'

/** They come in floods and go by themselves. */
export const NEVER_COUNTED = 'events'

const specialEvaluators = [POD_EVALUATOR, SERVICE_EVALUATOR, CLAIM_EVALUATOR]

export function evaluatorOf({ group, resource }: GroupResource): QuotaEvaluator {
  const special = specialEvaluators.find(
    (known) => known.resource.group === group && known.resource.resource === resource,
  )
  return special ?? countEvaluator({ group, resource })
}

export function hardOf(quota: KubeObject): Record<string, string> {
  return amountsOf(struct(quota, 'spec'), 'hard')
}

/** Whether the quota counts this object at all. */
export function countsObject(quota: KubeObject, evaluator: QuotaEvaluator, object: KubeObject): boolean {
  const isCovered = Object.keys(hardOf(quota)).some((name) => evaluator.covers(name))
  return isCovered && scopesOf(quota).every((requirement) => evaluator.matchesScope(requirement, object))
}

/** `status.used` of a quota. Names in `spec.hard` that are about nothing that exists are left out. */
export function quotaUsage(quota: KubeObject, lookup: Pick<ObjectLookup, 'each'>, nowMs: number): Amounts {
  return finished(quotaUsageSteps(quota, lookup, nowMs))
}

/** The same with a stop after each object: there may be many. */
export function* quotaUsageSteps(quota: KubeObject, lookup: Pick<ObjectLookup, 'each'>, nowMs: number): Steps<Amounts> {
  const names = Object.keys(hardOf(quota))
  const namespace = quota.metadata?.namespace ?? ''
  const evaluators = new Map<string, QuotaEvaluator>()
  for (const evaluator of names.flatMap(evaluatorsFor)) {
    evaluators.set(`${evaluator.resource.group}/${evaluator.resource.resource}`, evaluator)
  }
  let used: Record<string, string> = {}
  for (const evaluator of evaluators.values()) {
    const covered = names.filter((name) => evaluator.covers(name))
    let sum: Amounts = Object.fromEntries(covered.map((name) => [name, '0']))
    for (const object of lookup.each(evaluator.resource, namespace)) {
      if (countsObject(quota, evaluator, object)) {
        sum = addAmounts(sum, maskAmounts(evaluator.usage(object, nowMs), covered))
      }
      yield
    }
    used = { ...used, ...sum }
  }
  return used
}

function evaluatorsFor(hardName: string): QuotaEvaluator[] {
  const special = specialEvaluators.filter((evaluator) => evaluator.covers(hardName))
  if (special.length > 0) return special
  const counted = countedResource(hardName)
  return counted !== undefined && isServed(counted) ? [countEvaluator(counted)] : []
}

function isServed({ group, resource }: GroupResource): boolean {
  if (resource === NEVER_COUNTED) return false
  return listGroupVersions().some(
    (served) => served.group === group && served.resources.some((row) => row.resource === resource && row.namespaced),
  )
}
