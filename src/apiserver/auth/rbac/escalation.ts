/**
 * Nobody grants what they do not hold. Every write of a role or a binding passes here, after authorization of the write
 * itself and before it is stored; the verbs `escalate` (on roles) and `bind` (on the role that is bound) lift the rule.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../kube/objects.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { forbidden, notFound } from '../../../kube/status/resource-errors.ts'
import type { Authorizer, PolicyRule } from '../authorizer.ts'
import { MASTERS_GROUP, type UserInfo } from '../user.ts'
import { escalationText } from './escalation-text.ts'
import { grantsOf, referencedRules } from './grants.ts'
import { type Binding, type ClusterRole, nameOf, RBAC_GROUP, type RbacResource, type RoleRef } from './objects.ts'
import { countPermissionsToCheck, uncoveredRules } from './rule-cover.ts'
import type { RbacSource } from './view.ts'

/** A role whose lists multiply to more than this is refused to all but those who need no check. */
export const MAX_PERMISSIONS_TO_CHECK = 10_000

/** Rules that somebody holds, times rules that they hand out: each pair takes a moment. */
export const MAX_RULES_TO_COMPARE = 1_000_000

const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

export interface PolicyWrite {
  readonly user: UserInfo
  readonly resource: RbacResource
  /** Of the request; empty for the two cluster-wide resources. */
  readonly namespace: string
  /** Of the request: empty for a create. */
  readonly name: string
  readonly object: KubeObject
  /** Missing for a create. */
  readonly previous?: KubeObject
}

export class EscalationCheck {
  readonly #source: RbacSource
  readonly #authorizer: Authorizer

  constructor(source: RbacSource, authorizer: Authorizer) {
    this.#source = source
    this.#authorizer = authorizer
  }

  /** Throws a 403 that lists what the user would hand out without holding it. */
  check(write: PolicyWrite): void {
    if (write.user.groups.includes(MASTERS_GROUP) || changesOnlyOwnership(write)) return
    if (write.resource === 'roles' || write.resource === 'clusterroles') this.#checkRole(write)
    else this.#checkBinding(write)
  }

  #checkRole(write: PolicyWrite): void {
    if (this.#may('escalate', write, write.resource, write.name)) return
    const role = write.object as ClusterRole
    this.#refuse(write, this.#excess(write, role.rules ?? []))
    const aggregates = hasSelectors(role) || hasSelectors(write.previous ?? {})
    if (aggregates && this.#excess(write, FULL_AUTHORITY) !== undefined) {
      this.#refuse(write, 'must have cluster-admin privileges to use the aggregationRule')
    }
  }

  #checkBinding(write: PolicyWrite): void {
    const { roleRef } = write.object as Binding
    const resource = roleResource(roleRef)
    if (this.#may('bind', write, resource, roleRef.name)) return
    const rules = referencedRules(this.#source, roleRef, write.namespace)
    // The API server calls the missing role by the resource of the request.
    if (rules === undefined) throw notFound({ group: RBAC_GROUP, resource: write.resource }, roleRef.name)
    this.#refuse(write, this.#excess(write, rules))
  }

  #may(verb: string, { user, namespace }: PolicyWrite, resource: string, name: string): boolean {
    const { verdict } = this.#authorizer.authorize({
      kind: 'resource',
      user,
      verb,
      namespace,
      apiGroup: RBAC_GROUP,
      apiVersion: '*',
      resource,
      subresource: '',
      name,
      fieldSelector: '',
      labelSelector: '',
    })
    return verdict === 'allow'
  }

  /** What is wrong with handing out these rules, if anything is. */
  #excess({ user, namespace }: PolicyWrite, wanted: readonly PolicyRule[]): string | undefined {
    const grants = [...grantsOf(this.#source, user, namespace)]
    // A role may be bound many times over.
    const held = [...new Set(grants.map(({ rules }) => rules))].flatMap((rules) => rules ?? [])
    if (held.length * wanted.length > MAX_RULES_TO_COMPARE) {
      return `${held.length} rules would have to be compared with ${wanted.length}: split them into several roles`
    }
    if (countPermissionsToCheck(held, wanted) > MAX_PERMISSIONS_TO_CHECK) {
      return `the rules combine to more than ${MAX_PERMISSIONS_TO_CHECK} single permissions: split them into several roles`
    }
    const missing = uncoveredRules(held, wanted)
    if (missing.length === 0) return undefined
    const unresolved = grants.filter(({ rules }) => rules === undefined)
    return escalationText(
      user,
      missing,
      unresolved.map(({ binding }) => binding.roleRef),
    )
  }

  #refuse({ resource, object }: PolicyWrite, why: string | undefined): void {
    if (why !== undefined) throw forbidden({ group: RBAC_GROUP, resource }, nameOf(object), why)
  }
}

/** Validation refuses any other kind by name; here it only must not slip through. */
function roleResource({ kind }: RoleRef): RbacResource {
  if (kind === 'ClusterRole') return 'clusterroles'
  if (kind === 'Role') return 'roles'
  throw badRequest(`unsupported role reference kind: ${JSON.stringify(kind)}`)
}

function hasSelectors({ aggregationRule }: ClusterRole): boolean {
  return (aggregationRule?.clusterRoleSelectors ?? []).length > 0
}

/** Garbage collection must be able to take its marks off a role whose rules the collector does not hold. */
function changesOnlyOwnership({ object, previous }: PolicyWrite): boolean {
  return previous !== undefined && isDeepStrictEqual(withoutOwnership(object), withoutOwnership(previous))
}

function withoutOwnership(object: KubeObject): unknown {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _managed,
    ...metadata
  } = object.metadata ?? {}
  return { ...object, metadata }
}
