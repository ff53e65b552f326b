/** The default policy as objects: what a fresh API server writes into its store before anybody can do anything. */
import type { ObjectMeta } from '../../../kube/objects.ts'
import type { PolicyRule } from '../../request/authorizer.ts'
import { CLUSTER_BINDINGS, type DefaultBinding, NAMESPACED_BINDINGS, subjects } from './bootstrap-bindings.ts'
import { CERTIFICATE_RULES, COMPONENT_RULES, NODE_RULES } from './bootstrap-component-roles.ts'
import { NAMESPACED_RULES } from './bootstrap-namespaced.ts'
import { AUTO_UPDATE_ANNOTATION, type RuleTable } from './bootstrap-rules.ts'
import { CREDENTIAL_CONTROLLER_RULES, STORAGE_CONTROLLER_RULES } from './bootstrap-storage-controllers.ts'
import { USER_RULES } from './bootstrap-user-roles.ts'
import { NETWORK_CONTROLLER_RULES, WORKLOAD_CONTROLLER_RULES } from './bootstrap-workload-controllers.ts'
import { type Binding, type ClusterRole, RBAC_API_VERSION, RBAC_GROUP, type RbacResource } from './objects.ts'

export interface PolicyEntry {
  readonly resource: RbacResource
  readonly object: ClusterRole | Binding
}

const CONTROLLER_PREFIX = 'system:controller:'

const controllerRules: RuleTable = {
  ...WORKLOAD_CONTROLLER_RULES,
  ...NETWORK_CONTROLLER_RULES,
  ...STORAGE_CONTROLLER_RULES,
  ...CREDENTIAL_CONTROLLER_RULES,
}

/** Each aggregate gathers the roles with its label; view is part of edit, and edit of admin, by such labels. */
const aggregates: Readonly<Record<string, string>> = { admin: '', edit: 'admin', view: 'edit' }

export function defaultPolicy(): PolicyEntry[] {
  return [
    ...Object.entries({ ...USER_RULES, ...NODE_RULES, ...COMPONENT_RULES, ...CERTIFICATE_RULES }).map(clusterRole),
    ...Object.entries(aggregates).map(aggregate),
    ...Object.entries(controllerRules).map(([name, rules]) => clusterRole([CONTROLLER_PREFIX + name, rules])),
    ...CLUSTER_BINDINGS.map(binding),
    ...Object.keys(controllerRules).map((name) =>
      binding({ role: CONTROLLER_PREFIX + name, subjects: subjects(`account:${name}`) }),
    ),
    ...Object.entries(NAMESPACED_RULES).flatMap(([namespace, roles]) =>
      Object.entries(roles).map(([name, rules]) => namespacedRole(namespace, name, rules)),
    ),
    ...NAMESPACED_BINDINGS.map(binding),
  ]
}

function clusterRole([name, rules]: readonly [string, readonly PolicyRule[]]): PolicyEntry {
  const [, target] = /^system:aggregate-to-(.*)$/.exec(name) ?? []
  const object = { ...typed('ClusterRole'), metadata: metadata({ name }, aggregationLabel(target)), rules }
  return { resource: 'clusterroles', object }
}

function aggregate([name, partOf]: readonly [string, string]): PolicyEntry {
  const object: ClusterRole = {
    ...typed('ClusterRole'),
    metadata: metadata({ name }, aggregationLabel(partOf)),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregationLabel(name) }] },
    rules: [],
  }
  return { resource: 'clusterroles', object }
}

function aggregationLabel(target: string | undefined): Record<string, string> {
  return target ? { [`rbac.authorization.k8s.io/aggregate-to-${target}`]: 'true' } : {}
}

function namespacedRole(namespace: string, name: string, rules: readonly PolicyRule[]): PolicyEntry {
  return { resource: 'roles', object: { ...typed('Role'), metadata: metadata({ name, namespace }), rules } }
}

function binding({ role, name = role, namespace, subjects: bound }: DefaultBinding): PolicyEntry {
  const isCluster = namespace === undefined
  const object: Binding = {
    ...typed(isCluster ? 'ClusterRoleBinding' : 'RoleBinding'),
    metadata: metadata(isCluster ? { name } : { name, namespace }),
    ...(bound.length === 0 ? {} : { subjects: bound }),
    roleRef: { apiGroup: RBAC_GROUP, kind: isCluster ? 'ClusterRole' : 'Role', name: role },
  }
  return { resource: isCluster ? 'clusterrolebindings' : 'rolebindings', object }
}

function typed(kind: string): { apiVersion: string; kind: string } {
  return { apiVersion: RBAC_API_VERSION, kind }
}

function metadata(names: ObjectMeta, labels: Record<string, string> = {}): ObjectMeta {
  return {
    ...names,
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' },
  }
}
