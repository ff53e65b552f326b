/**
 * Brings a store's default policy up to date: what is missing is created, missing rules and subjects are added, nothing
 * that an administrator added is taken away, and objects that say `autoupdate: "false"` are left alone.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../kube/objects.ts'
import type { PolicyEntry } from './bootstrap-policy.ts'
import { AUTO_UPDATE_ANNOTATION } from './bootstrap-rules.ts'
import {
  type AggregationRule,
  type Binding,
  type ClusterRole,
  nameOf,
  namespaceOf,
  type RbacResource,
  type Subject,
} from './objects.ts'
import { uncoveredRules } from './rule-cover.ts'

/** `recreate` deletes the binding first, because a roleRef cannot be changed. */
export interface PolicyChange {
  readonly action: 'create' | 'update' | 'recreate'
  readonly resource: RbacResource
  readonly object: KubeObject
}

export type FindObject = (resource: RbacResource, namespace: string, name: string) => KubeObject | undefined

/** The writes that are needed, in order. The namespaces of the entries must exist before they are made. */
export function reconcile(policy: readonly PolicyEntry[], find: FindObject): PolicyChange[] {
  return policy.flatMap(({ resource, object }) => {
    const existing = find(resource, namespaceOf(object), nameOf(object))
    if (existing === undefined) return [{ action: 'create', resource, object }]
    if (existing.metadata?.annotations?.[AUTO_UPDATE_ANNOTATION] === 'false') return []
    const isBinding = resource === 'clusterrolebindings' || resource === 'rolebindings'
    return isBinding
      ? bindingChange(resource, existing as Binding, object as Binding)
      : roleChange(resource, existing, object)
  })
}

function roleChange(resource: RbacResource, existing: ClusterRole, expected: ClusterRole): PolicyChange[] {
  const missingRules = uncoveredRules(existing.rules ?? [], expected.rules ?? [])
  const { aggregationRule: existingAggregation, ...rest } = existing
  const aggregationRule = mergeAggregation(existingAggregation, expected.aggregationRule)
  const object: ClusterRole = {
    ...rest,
    ...mergedMetadata(existing, expected),
    ...(missingRules.length === 0 ? {} : { rules: [...(existing.rules ?? []), ...missingRules] }),
    ...(aggregationRule === undefined ? {} : { aggregationRule }),
  }
  return updateIfChanged(resource, existing, object)
}

function mergeAggregation(
  existing: AggregationRule | undefined,
  expected: AggregationRule | undefined,
): AggregationRule | undefined {
  if (expected === undefined) return undefined
  const present = existing?.clusterRoleSelectors ?? []
  const missing = (expected.clusterRoleSelectors ?? []).filter(
    (selector) => !present.some((candidate) => isDeepStrictEqual(candidate, selector)),
  )
  return missing.length === 0 ? existing : { clusterRoleSelectors: [...present, ...missing] }
}

function bindingChange(resource: RbacResource, existing: Binding, expected: Binding): PolicyChange[] {
  if (!isDeepStrictEqual({ ...existing.roleRef }, { ...expected.roleRef }))
    return [{ action: 'recreate', resource, object: expected }]
  const present = existing.subjects ?? []
  const missing = (expected.subjects ?? []).filter((subject) => !present.some((other) => sameSubject(other, subject)))
  const object: Binding = {
    ...existing,
    ...mergedMetadata(existing, expected),
    ...(missing.length === 0 ? {} : { subjects: [...present, ...missing] }),
  }
  return updateIfChanged(resource, existing, object)
}

function sameSubject(a: Subject, b: Subject): boolean {
  const part = (value: string | undefined): string => value ?? ''
  return (
    a.kind === b.kind &&
    a.name === b.name &&
    part(a.namespace) === part(b.namespace) &&
    part(a.apiGroup) === part(b.apiGroup)
  )
}

/** What stands in the store wins over what we would have written. */
function mergedMetadata(existing: KubeObject, expected: KubeObject): Pick<KubeObject, 'metadata'> {
  const labels = { ...expected.metadata?.labels, ...existing.metadata?.labels }
  const annotations = { ...expected.metadata?.annotations, ...existing.metadata?.annotations }
  return { metadata: { ...existing.metadata, labels, annotations } }
}

function updateIfChanged(resource: RbacResource, existing: KubeObject, object: KubeObject): PolicyChange[] {
  return isDeepStrictEqual(existing, object) ? [] : [{ action: 'update', resource, object }]
}
