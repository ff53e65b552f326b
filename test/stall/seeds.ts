/** Objects for the store of a server under measurement, and the counts they come in. */
import type { Seed } from './seed-store.ts'

export const RBAC_GROUP = 'rbac.authorization.k8s.io'

export function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** A map from made-up names to one value. */
export function mapOf(count: number, prefix: string, value: string): Record<string, string> {
  return Object.fromEntries(many(count, (index) => [`${prefix}${index}`, value]))
}

export function seed(prefix: string, apiVersion: string, kind: string, metadata: object, rest: object): Seed {
  return { prefix, object: { kind, apiVersion, metadata, ...rest } }
}

export function namespaceSeed(name: string, labels: object = {}): Seed {
  const rest = { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }
  return seed('core/namespaces/', 'v1', 'Namespace', { name, labels }, rest)
}

/** An object of the core group in a namespace. */
export function coreSeed(resource: string, kind: string, namespace: string, metadata: object, rest: object): Seed {
  return seed(`core/${resource}/${namespace}/`, 'v1', kind, { ...metadata, namespace }, rest)
}

export function roleSeed(namespace: string, name: string, rules: readonly object[]): Seed {
  return seed(`${RBAC_GROUP}/roles/${namespace}/`, `${RBAC_GROUP}/v1`, 'Role', { name, namespace }, { rules })
}

export function bindingSeed(namespace: string, name: string, role: string, user: string): Seed {
  const subjects = [{ kind: 'User', apiGroup: RBAC_GROUP, name: user }]
  const roleRef = { apiGroup: RBAC_GROUP, kind: 'Role', name: role }
  const prefix = `${RBAC_GROUP}/rolebindings/${namespace}/`
  return seed(prefix, `${RBAC_GROUP}/v1`, 'RoleBinding', { name, namespace }, { subjects, roleRef })
}
