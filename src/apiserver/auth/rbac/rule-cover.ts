/** Whether the rules somebody holds include other rules, and which single permissions are missing. */
import { finished, type Steps } from '../../../runtime/steps.ts'
import type { PolicyRule } from '../../request/authorizer.ts'
import { Comparisons } from './comparisons.ts'
import { HeldRules } from './held-rules.ts'
import { type CompleteRule, completeRule } from './objects.ts'

export class TooManyPermissionsError extends Error {}

export interface CoverLimits {
  readonly comparisons: Comparisons
  /** How many single permissions may have to be looked at: the product of a rule's lists grows quickly. */
  readonly maxPermissions: number
}

/** What `held` lacks of `wanted`, as rules of one verb on one resource, name or path each. For rules of our own. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const limits = {
    comparisons: new Comparisons(Number.POSITIVE_INFINITY),
    maxPermissions: Number.POSITIVE_INFINITY,
  }
  return finished(uncoveredRulesSteps(held, wanted, limits))
}

/**
 * `uncoveredRules` in steps, with a stop now and then. A single permission is always held by one rule or by none, so taking rules apart
 * first makes several held rules add up. Throws a TooManyComparisonsError or a TooManyPermissionsError.
 */
export function* uncoveredRulesSteps(
  held: Iterable<PolicyRule>,
  wanted: readonly PolicyRule[],
  { comparisons, maxPermissions }: CoverLimits,
): Steps<PolicyRule[]> {
  const index = yield* HeldRules.of(held, comparisons)
  const missing: PolicyRule[] = []
  let permissions = 0
  for (const rule of wanted.map(completeRule)) {
    const count = permissionCount(rule)
    // What one held rule includes as a whole is never taken apart: a cluster-admin may write anything.
    if (count === 0 || (yield* index.include(rule, comparisons))) continue
    permissions += count
    if (permissions > maxPermissions) throw new TooManyPermissionsError(`more than ${maxPermissions} permissions`)
    for (const permission of singlePermissions(rule)) {
      if (!(yield* index.include(completeRule(permission), comparisons))) missing.push(permission)
    }
  }
  return missing
}

function permissionCount({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: CompleteRule): number {
  const objects = apiGroups.length * resources.length * Math.max(resourceNames.length, 1)
  return verbs.length * (objects + nonResourceURLs.length)
}

function* singlePermissions(rule: CompleteRule): Generator<PolicyRule, void, undefined> {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }))
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        for (const name of names) yield { verbs: [verb], apiGroups: [group], resources: [resource], ...name }
      }
    }
  }
  for (const path of nonResourceURLs) {
    for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [path] }
  }
}
