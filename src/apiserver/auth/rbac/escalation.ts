/**
 * Nobody grants what they do not hold. Every write of a role or a binding passes here, after authorization of the write
 * itself and before it is stored; the verbs `escalate` (on roles) and `bind` (on the role that is bound) lift the rule.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../kube/objects.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { forbidden, notFound } from '../../../kube/status/resource-errors.ts'
import type { Steps } from '../../../runtime/steps.ts'
import type { Authorizer, PolicyRule } from '../../request/authorizer.ts'
import { MASTERS_GROUP, type UserInfo } from '../../request/user.ts'
import { Comparisons, MAX_COMPARISONS, TooManyComparisonsError } from './comparisons.ts'
import { escalationText } from './escalation-text.ts'
import { grantsOf, referencedRules } from './grants.ts'
import { type Binding, type ClusterRole, nameOf, RBAC_GROUP, type RbacResource, type RoleRef } from './objects.ts'
import { TooManyPermissionsError, uncoveredRulesSteps } from './rule-cover.ts'
import type { RbacSource } from './view.ts'

/** A role whose lists multiply to more than this is refused to all but those who need no check. */
export const MAX_PERMISSIONS_TO_CHECK = 10_000

const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

export interface PolicyWrite {
  readonly user: UserInfo
  readonly resource: RbacResource
  /** The namespace of the request; empty for the two cluster-wide resources. */
  readonly namespace: string
  /** The name in the request; empty for a create. */
  readonly name: string
  readonly object: KubeObject
  /** The object before the write; missing for a create. */
  readonly previous?: KubeObject
}

export class EscalationCheck {
  readonly #source: RbacSource
  readonly #authorizer: Authorizer

  constructor(source: RbacSource, authorizer: Authorizer) {
    this.#source = source
    this.#authorizer = authorizer
  }

  /** Throws a 403 that lists what the user would hand out without holding it. With a stop now and then. */
  *checkSteps(write: PolicyWrite): Steps<void> {
    if (write.user.groups.includes(MASTERS_GROUP) || changesOnlyOwnership(write)) return
    if (write.resource === 'roles' || write.resource === 'clusterroles') yield* this.#checkRole(write)
    else yield* this.#checkBinding(write)
  }

  *#checkRole(write: PolicyWrite): Steps<void> {
    if (this.#may('escalate', write, write.resource, write.name)) return
    const role = write.object as ClusterRole
    this.#refuse(write, yield* this.#excess(write, role.rules ?? []))
    const aggregates = hasSelectors(role) || hasSelectors(write.previous ?? {})
    if (aggregates && (yield* this.#excess(write, FULL_AUTHORITY)) !== undefined) {
      this.#refuse(write, 'must have cluster-admin privileges to use the aggregationRule')
    }
  }

  *#checkBinding(write: PolicyWrite): Steps<void> {
    const { roleRef } = write.object as Binding
    const resource = roleResource(roleRef)
    if (this.#may('bind', write, resource, roleRef.name)) return
    const rules = referencedRules(this.#source, roleRef, write.namespace)
    // The API server calls the missing role by the resource of the request.
    if (rules === undefined) throw notFound({ group: RBAC_GROUP, resource: write.resource }, roleRef.name)
    this.#refuse(write, yield* this.#excess(write, rules))
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
  *#excess({ user, namespace }: PolicyWrite, wanted: readonly PolicyRule[]): Steps<string | undefined> {
    const comparisons = new Comparisons(MAX_COMPARISONS)
    // A role may be bound many times over.
    const held = new Set<readonly PolicyRule[]>()
    const unresolved: RoleRef[] = []
    try {
      for (const { binding, rules } of grantsOf(this.#source, user, namespace)) {
        comparisons.take(1)
        if (comparisons.isStepOver) yield
        if (rules === undefined) unresolved.push(binding.roleRef)
        else held.add(rules)
      }
      const limits = { comparisons, maxPermissions: MAX_PERMISSIONS_TO_CHECK }
      const missing = yield* uncoveredRulesSteps(rulesIn(held), wanted, limits)
      return missing.length === 0 ? undefined : escalationText(user, missing, unresolved)
    } catch (error) {
      return tooWide(error)
    }
  }

  #refuse({ resource, object }: PolicyWrite, why: string | undefined): void {
    if (why !== undefined) throw forbidden({ group: RBAC_GROUP, resource }, nameOf(object), why)
  }
}

function* rulesIn(roles: Iterable<readonly PolicyRule[]>): Generator<PolicyRule, void, undefined> {
  for (const rules of roles) yield* rules
}

function tooWide(error: unknown): string {
  if (error instanceof TooManyPermissionsError) {
    return `the rules combine to more than ${MAX_PERMISSIONS_TO_CHECK} single permissions: split them into several roles`
  }
  if (!(error instanceof TooManyComparisonsError)) throw error
  return `it takes more than ${MAX_COMPARISONS} comparisons with the rules that the user holds: split it into several roles`
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
