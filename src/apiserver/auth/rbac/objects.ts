/** The four kinds of RBAC policy, as far as authorization reads them; everything else in the objects is left alone. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { LabelSelectorObject } from '../../../kube/selectors/label.ts'
import type { PolicyRule } from '../../request/authorizer.ts'

export const RBAC_GROUP = 'rbac.authorization.k8s.io'
export const RBAC_API_VERSION = `${RBAC_GROUP}/v1`
export const RBAC_RESOURCES = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'] as const
export type RbacResource = (typeof RBAC_RESOURCES)[number]

export interface Subject {
  readonly kind: string
  readonly apiGroup?: string
  readonly name: string
  /** The namespace of a ServiceAccount; in a RoleBinding it defaults to that of the binding. */
  readonly namespace?: string
}

export interface RoleRef {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

export interface AggregationRule {
  readonly clusterRoleSelectors?: readonly LabelSelectorObject[]
}

export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[]
}

export interface ClusterRole extends Role {
  readonly aggregationRule?: AggregationRule
}

/** A RoleBinding has a namespace, a ClusterRoleBinding has none. */
export interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[]
  readonly roleRef: RoleRef
}

export type CompleteRule = Required<PolicyRule>

/** The rule with every list present; a client may have left one out, or written `null` for an empty one. */
export function completeRule(rule: PolicyRule): CompleteRule {
  return {
    verbs: rule.verbs ?? [],
    apiGroups: rule.apiGroups ?? [],
    resources: rule.resources ?? [],
    resourceNames: rule.resourceNames ?? [],
    nonResourceURLs: rule.nonResourceURLs ?? [],
  }
}

export function nameOf(object: KubeObject): string {
  return object.metadata?.name ?? ''
}

export function namespaceOf(object: KubeObject): string {
  return object.metadata?.namespace ?? ''
}
