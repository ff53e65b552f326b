/** Whether the rules somebody holds include other rules, and which single permissions are missing. */
import type { PolicyRule } from '../authorizer.ts'
import { type CompleteRule, completeRule } from './objects.ts'
import { pathCovers } from './rule-match.ts'

/**
 * What `held` lacks of `wanted`, as rules of one verb on one resource, name or path each. A single permission is always
 * held by one rule or by none, so taking rules apart first makes several held rules add up.
 */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const owned = held.map(completeRule)
  return notHeldAsAWhole(owned, wanted)
    .flatMap(singlePermissions)
    .filter((permission) => !owned.some((rule) => ruleCovers(rule, completeRule(permission))))
}

/** How many single permissions `uncoveredRules` would have to look at: the product of a rule's lists grows quickly. */
export function countPermissionsToCheck(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): number {
  return notHeldAsAWhole(held.map(completeRule), wanted).reduce((sum, rule) => sum + permissionCount(rule), 0)
}

/** Leaves out what one held rule includes as a whole, so that a cluster-admin's rules are never taken apart. */
function notHeldAsAWhole(held: readonly CompleteRule[], wanted: readonly PolicyRule[]): CompleteRule[] {
  return wanted.map(completeRule).filter((rule) => !held.some((owned) => ruleCovers(owned, rule)))
}

function permissionCount({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: CompleteRule): number {
  const objects = apiGroups.length * resources.length * Math.max(resourceNames.length, 1)
  return verbs.length * (objects + nonResourceURLs.length)
}

function singlePermissions({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
}: CompleteRule): PolicyRule[] {
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }))
  const ofResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        names.map((name) => ({ verbs: [verb], apiGroups: [group], resources: [resource], ...name })),
      ),
    ),
  )
  const ofPaths = nonResourceURLs.flatMap((path) => verbs.map((verb) => ({ verbs: [verb], nonResourceURLs: [path] })))
  return [...ofResources, ...ofPaths]
}

function ruleCovers(held: CompleteRule, wanted: CompleteRule): boolean {
  return (
    includesEach(held.verbs, wanted.verbs) &&
    includesEach(held.apiGroups, wanted.apiGroups) &&
    wanted.resources.every((resource) => resourceCovers(held.resources, resource)) &&
    namesCover(held.resourceNames, wanted.resourceNames) &&
    wanted.nonResourceURLs.every((path) => held.nonResourceURLs.some((pattern) => pathCovers(pattern, path)))
  )
}

function includesEach(held: readonly string[], wanted: readonly string[]): boolean {
  return held.includes('*') || wanted.every((value) => held.includes(value))
}

function resourceCovers(held: readonly string[], resource: string): boolean {
  if (held.includes('*') || held.includes(resource)) return true
  const slash = resource.indexOf('/')
  return slash !== -1 && held.includes(`*${resource.slice(slash)}`)
}

/** No names means all names: that only a rule without names can grant. */
function namesCover(held: readonly string[], wanted: readonly string[]): boolean {
  if (held.length === 0) return true
  return wanted.length > 0 && wanted.every((name) => held.includes(name))
}
