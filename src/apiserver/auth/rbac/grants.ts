/** From a user to the rules that apply: through the bindings of the cluster first, then through those of a namespace. */
import type { PolicyRule } from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import { type Binding, namespaceOf, type RoleRef } from './objects.ts'
import type { RbacSource } from './view.ts'

/** `rules` is missing when the binding names a role that does not exist. */
export interface Grant {
  readonly binding: Binding
  readonly rules: readonly PolicyRule[] | undefined
}

const noRules: readonly PolicyRule[] = []

/** With an empty namespace only cluster-wide grants count. */
export function* grantsOf(source: RbacSource, user: UserInfo, namespace: string): Generator<Grant, void, undefined> {
  for (const binding of source.clusterRoleBindingsOf(user)) yield grant(source, binding)
  if (namespace === '') return
  for (const binding of source.roleBindingsOf(user, namespace)) yield grant(source, binding)
}

function grant(source: RbacSource, binding: Binding): Grant {
  return { binding, rules: referencedRules(source, binding.roleRef, namespaceOf(binding)) }
}

/** The rules of the role that a binding in this namespace (or in none) names. */
export function referencedRules(
  source: RbacSource,
  { kind, name }: RoleRef,
  bindingNamespace: string,
): readonly PolicyRule[] | undefined {
  const role =
    kind === 'ClusterRole'
      ? source.clusterRole(name)
      : kind === 'Role'
        ? source.role(bindingNamespace, name)
        : undefined
  return role === undefined ? undefined : (role.rules ?? noRules)
}
