/** What a ResourceQuota says, read once for each of its states: which resources it is about, and how much it grants. */
import type { KubeObject } from '../../../kube/objects.ts'
import { listGroupVersions } from '../../../kube/schema/catalogue.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import { struct } from '../../kinds/fields.ts'
import type { Reading } from '../lookup.ts'
import { type Totals, totalsOf } from '../totals.ts'
import { countEvaluator, countedResource, type QuotaEvaluator } from './evaluator.ts'
import { POD_EVALUATOR } from './pod-evaluator.ts'
import { type ScopeRequirement, scopesOf } from './scopes.ts'
import { SERVICE_EVALUATOR } from './service-evaluator.ts'
import { CLAIM_EVALUATOR } from './storage-evaluator.ts'

/** Events are counted by no quota: they come in floods and go by themselves. */
export const NEVER_COUNTED = 'events'

/** Wider quotas are read again at each request, so that they take no memory. */
const MAX_KEPT_QUOTA_NAMES = 1_000

export interface QuotaFacts {
  readonly name: string
  readonly hard: Totals
  readonly scopes: readonly ScopeRequirement[]
  /** Equal for quotas of equal scopes, whose usage is counted once for all of them. */
  readonly scopeKey: string
  /** The resources that it counts, by their keys, and the names in `hard` that are about each. */
  readonly parts: ReadonlyMap<string, QuotaPart>
}

export interface QuotaPart {
  readonly evaluator: QuotaEvaluator
  readonly names: readonly string[]
}

const specialEvaluators = [POD_EVALUATOR, SERVICE_EVALUATOR, CLAIM_EVALUATOR]

export function evaluatorOf({ group, resource }: GroupResource): QuotaEvaluator {
  const special = specialEvaluators.find(
    (known) => known.resource.group === group && known.resource.resource === resource,
  )
  return special ?? countEvaluator({ group, resource })
}

export function resourceKey({ group, resource }: GroupResource): string {
  return `${group}/${resource}`
}

export const QUOTA_READING: Reading<QuotaFacts> = {
  read: quotaFacts,
  isKept: ({ hard }) => hard.size <= MAX_KEPT_QUOTA_NAMES,
}

export function quotaFacts(quota: KubeObject): QuotaFacts {
  const hard = totalsOf(struct(quota, 'spec'), 'hard')
  const scopes = scopesOf(quota)
  const scopeKey = JSON.stringify(scopes)
  return { name: quota.metadata?.name ?? '', hard, scopes, scopeKey, parts: partsOf(hard.keys()) }
}

/** Names that are about nothing that exists are left out. */
function partsOf(hardNames: Iterable<string>): Map<string, QuotaPart> {
  const parts = new Map<string, { evaluator: QuotaEvaluator; names: string[] }>()
  for (const name of hardNames) {
    for (const evaluator of evaluatorsFor(name)) {
      const key = resourceKey(evaluator.resource)
      const known = parts.get(key)
      if (known === undefined) parts.set(key, { evaluator, names: [name] })
      else known.names.push(name)
    }
  }
  return parts
}

function evaluatorsFor(hardName: string): QuotaEvaluator[] {
  const special = specialEvaluators.filter((evaluator) => evaluator.covers(hardName))
  if (special.length > 0) return special
  const counted = countedResource(hardName)
  return counted !== undefined && countable().has(resourceKey(counted)) ? [countEvaluator(counted)] : []
}

let countableKeys: ReadonlySet<string> | undefined

/** All resources in namespaces. */
function countable(): ReadonlySet<string> {
  countableKeys ??= new Set(
    listGroupVersions().flatMap(({ group, resources }) =>
      resources
        .filter(({ namespaced, resource }) => namespaced && resource !== NEVER_COUNTED)
        .map(({ resource }) => resourceKey({ group, resource })),
    ),
  )
  return countableKeys
}
