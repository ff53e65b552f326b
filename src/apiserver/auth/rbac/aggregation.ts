/** Aggregated ClusterRoles: their rules are those of all roles that their selectors match, gathered and written back. */
import { type LabelSelectorObject, labelSelectorFromObject, matchesLabels } from '../../../kube/selectors/label.ts'
import { ApiError } from '../../../kube/status/status.ts'
import { finished, type Steps } from '../../../runtime/steps.ts'
import type { PolicyRule } from '../../request/authorizer.ts'
import { type ClusterRole, completeRule, nameOf } from './objects.ts'

/**
 * The rules an aggregated role should have, given all roles as they are: in the order of its selectors, then of the
 * roles' names, each rule once. Undefined for a role that does not aggregate, or whose selectors cannot be read.
 */
export function aggregatedRules(role: ClusterRole, roles: readonly ClusterRole[]): PolicyRule[] | undefined {
  if (!isAggregated(role)) return undefined
  const gathered = new Map<string, PolicyRule>()
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selected = selectRoles(selector, roles)
    if (selected === undefined) return undefined
    for (const { rules } of selected.filter((candidate) => nameOf(candidate) !== nameOf(role))) {
      for (const rule of rules ?? []) if (!gathered.has(ruleKey(rule))) gathered.set(ruleKey(rule), rule)
    }
  }
  return [...gathered.values()]
}

/**
 * The ClusterRoles that need a write, with the rules they should get. Roles may gather from roles that gather
 * themselves (admin from edit from view), so passes repeat until nothing changes. One pass a role is enough for any
 * chain; roles that gather from each other in a circle get no more, and the next change of any of them goes on.
 */
export function staleAggregations(roles: Iterable<ClusterRole>): ClusterRole[] {
  return finished(staleAggregationSteps(roles))
}

/** `staleAggregations` in steps, with a stop after each role: all roles together may take long. */
export function* staleAggregationSteps(roles: Iterable<ClusterRole>): Steps<ClusterRole[]> {
  const current = new Map<string, ClusterRole>()
  for (const role of roles) {
    current.set(nameOf(role), role)
    yield
  }
  const aggregated = [...current.values()].filter(isAggregated).map(nameOf)
  const stale = new Set<string>()
  for (let pass = 0; pass <= aggregated.length; pass++) {
    let hasChanged = false
    for (const name of aggregated) {
      if (refresh(name, current)) {
        hasChanged = true
        stale.add(name)
      }
      yield
    }
    if (!hasChanged) break
  }
  return [...current.values()].filter((role) => stale.has(nameOf(role)))
}

function isAggregated({ aggregationRule }: ClusterRole): boolean {
  return Boolean(aggregationRule)
}

function refresh(name: string, roles: Map<string, ClusterRole>): boolean {
  const role = roles.get(name)
  const rules = role === undefined ? undefined : aggregatedRules(role, [...roles.values()])
  if (role === undefined || rules === undefined || sameRules(rules, role.rules ?? [])) return false
  roles.set(name, { ...role, rules })
  return true
}

function selectRoles(selector: LabelSelectorObject, roles: readonly ClusterRole[]): ClusterRole[] | undefined {
  try {
    const parsed = labelSelectorFromObject(selector)
    const selected = roles.filter((role) => matchesLabels(parsed, role.metadata?.labels))
    return selected.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function sameRules(a: readonly PolicyRule[], b: readonly PolicyRule[]): boolean {
  return a.length === b.length && a.every((rule, index) => ruleKey(rule) === ruleKey(b[index] ?? { verbs: [] }))
}

const ruleKeys = new WeakMap<PolicyRule, string>()

/** Equal for rules that say the same in the same order; an empty list says as much as none. */
function ruleKey(rule: PolicyRule): string {
  let key = ruleKeys.get(rule)
  if (key === undefined) {
    key = JSON.stringify(completeRule(rule))
    ruleKeys.set(rule, key)
  }
  return key
}

/** About how long the rules of a role are when they are printed. */
export function rulesBytes({ rules }: ClusterRole): number {
  return (rules ?? []).reduce((sum, rule) => sum + ruleKey(rule).length, 0)
}
