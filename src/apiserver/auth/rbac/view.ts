/** The policy in memory: roles by name, bindings by subject, kept current by whoever watches the four resources. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { UserInfo } from '../../request/user.ts'
import { BindingIndex } from './binding-index.ts'
import { type Binding, type ClusterRole, nameOf, namespaceOf, type RbacResource, type Role } from './objects.ts'
import { indexRules } from './rule-index.ts'

/** All that decisions need to know of the policy. */
export interface RbacSource {
  clusterRole(name: string): ClusterRole | undefined
  role(namespace: string, name: string): Role | undefined
  clusterRoleBindingsOf(user: UserInfo): Iterable<Binding>
  roleBindingsOf(user: UserInfo, namespace: string): Iterable<Binding>
}

export class RbacView implements RbacSource {
  readonly #clusterRoles = new Map<string, ClusterRole>()
  /** By namespace and name, without a text of both: a user may have thousands of bindings, and each asks for its role. */
  readonly #roles = new Map<string, Map<string, Role>>()
  readonly #clusterRoleBindings = new BindingIndex()
  /** Namespaces without bindings have no entry. */
  readonly #roleBindings = new Map<string, BindingIndex>()

  /** Adds the object or takes the place of its former self. */
  put(resource: RbacResource, object: KubeObject): void {
    switch (resource) {
      case 'clusterroles':
        this.#clusterRoles.set(nameOf(object), indexed(object))
        break
      case 'roles':
        this.#putRole(indexed(object))
        break
      case 'clusterrolebindings':
        this.#clusterRoleBindings.put(object as Binding)
        break
      case 'rolebindings':
        this.#putRoleBinding(object as Binding)
        break
    }
  }

  remove(resource: RbacResource, namespace: string, name: string): void {
    switch (resource) {
      case 'clusterroles':
        this.#clusterRoles.delete(name)
        break
      case 'roles':
        this.#removeRole(namespace, name)
        break
      case 'clusterrolebindings':
        this.#clusterRoleBindings.remove(name)
        break
      case 'rolebindings':
        this.#removeRoleBinding(namespace, name)
        break
    }
  }

  clusterRole(name: string): ClusterRole | undefined {
    return this.#clusterRoles.get(name)
  }

  clusterRoles(): Iterable<ClusterRole> {
    return this.#clusterRoles.values()
  }

  role(namespace: string, name: string): Role | undefined {
    return this.#roles.get(namespace)?.get(name)
  }

  clusterRoleBindingsOf(user: UserInfo): Iterable<Binding> {
    return this.#clusterRoleBindings.of(user)
  }

  roleBindingsOf(user: UserInfo, namespace: string): Iterable<Binding> {
    return this.#roleBindings.get(namespace)?.of(user) ?? []
  }

  #putRole(role: Role): void {
    const namespace = namespaceOf(role)
    const known = this.#roles.get(namespace)
    if (known === undefined) this.#roles.set(namespace, new Map([[nameOf(role), role]]))
    else known.set(nameOf(role), role)
  }

  #removeRole(namespace: string, name: string): void {
    const known = this.#roles.get(namespace)
    known?.delete(name)
    if (known?.size === 0) this.#roles.delete(namespace)
  }

  #putRoleBinding(binding: Binding): void {
    const namespace = namespaceOf(binding)
    let index = this.#roleBindings.get(namespace)
    if (index === undefined) {
      index = new BindingIndex()
      this.#roleBindings.set(namespace, index)
    }
    index.put(binding)
  }

  #removeRoleBinding(namespace: string, name: string): void {
    const index = this.#roleBindings.get(namespace)
    index?.remove(name)
    if (index?.size === 0) this.#roleBindings.delete(namespace)
  }
}

function indexed(role: Role): Role {
  indexRules(role.rules ?? [])
  return role
}
