/** Role-based access control: allows what some rule of some binding of the user allows, and never denies. */
import { goQuote } from '../../../kube/status/go-text.ts'
import {
  type Attributes,
  type Authorizer,
  type Decision,
  joinErrors,
  NO_OPINION,
  noOpinion,
  type PolicyRule,
  type RuleListing,
} from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import { matchingSubject } from './binding-index.ts'
import { Comparisons, MAX_COMPARISONS_OF_REQUEST, TooManyComparisonsError } from './comparisons.ts'
import { grantsOf } from './grants.ts'
import { type Binding, completeRule, nameOf, namespaceOf, RBAC_GROUP, type RoleRef, type Subject } from './objects.ts'
import { rulesAllow } from './rule-index.ts'
import type { RbacSource } from './view.ts'

/** Rules in the answer to a SelfSubjectRulesReview; who has more is told that there are more. */
const MAX_LISTED_RULES = 5_000
/** Of all their values together, with `LISTED_VALUE_CHARACTERS` more for each. */
export const MAX_LISTED_CHARACTERS = 512 * 1024
/** A value of a listed rule takes as long as so many characters, however short it is. */
export const LISTED_VALUE_CHARACTERS = 16
/** Bindings may name roles that are not there; nobody reads about more of them than this. */
export const MAX_TOLD_ROLES = 100

export class RbacAuthorizer implements Authorizer {
  readonly #source: RbacSource

  constructor(source: RbacSource) {
    this.#source = source
  }

  authorize(attributes: Attributes): Decision {
    const { user } = attributes
    const namespace = attributes.kind === 'resource' ? attributes.namespace : ''
    const errors = new Set<string>()
    try {
      const binding = this.#allowing(attributes, namespace, errors)
      if (binding !== undefined) {
        return { verdict: 'allow', reason: `RBAC: allowed by ${describeGrant(binding, user)}` }
      }
    } catch (error) {
      if (!(error instanceof TooManyComparisonsError)) throw error
      errors.add(`the user has too many bindings and rules: ${error.message}`)
    }
    return errors.size === 0 ? NO_OPINION : noOpinion(`RBAC: ${joinErrors([...errors])}`)
  }

  #allowing(attributes: Attributes, namespace: string, errors: Set<string>): Binding | undefined {
    const comparisons = new Comparisons(MAX_COMPARISONS_OF_REQUEST)
    // A role may be bound many times over.
    const asked = new Set<readonly PolicyRule[]>()
    for (const { binding, rules } of grantsOf(this.#source, attributes.user, namespace)) {
      comparisons.take(1)
      if (rules === undefined) tellUnresolved(errors, binding.roleRef)
      else if (!asked.has(rules)) {
        if (rulesAllow(rules, attributes, comparisons)) return binding
        asked.add(rules)
      }
    }
    return undefined
  }

  rulesFor(user: UserInfo, namespace: string): RuleListing {
    const rules: PolicyRule[] = []
    const errors = new Set<string>()
    let characters = 0
    let grants = 0
    for (const grant of grantsOf(this.#source, user, namespace)) {
      if (++grants > MAX_COMPARISONS_OF_REQUEST) return { rules, incomplete: true, errors: [...errors] }
      if (grant.rules === undefined) tellUnresolved(errors, grant.binding.roleRef)
      for (const rule of grant.rules ?? []) {
        characters += charactersOf(rule)
        if (rules.length === MAX_LISTED_RULES || characters > MAX_LISTED_CHARACTERS) {
          return { rules, incomplete: true, errors: [...errors] }
        }
        rules.push(rule)
      }
    }
    return { rules, incomplete: false, errors: [...errors] }
  }
}

function tellUnresolved(errors: Set<string>, roleRef: RoleRef): void {
  if (errors.size < MAX_TOLD_ROLES) errors.add(unresolvedText(roleRef))
}

function charactersOf(rule: PolicyRule): number {
  let characters = 0
  for (const values of Object.values(completeRule(rule))) {
    for (const value of values) characters += value.length + LISTED_VALUE_CHARACTERS
  }
  return characters
}

/** The API server's own listing calls the resource by its singular here. */
function unresolvedText({ kind, name }: RoleRef): string {
  if (kind !== 'ClusterRole' && kind !== 'Role') return `unsupported role reference kind: ${goQuote(kind)}`
  return `${kind.toLowerCase()}.${RBAC_GROUP} ${goQuote(name)} not found`
}

function describeGrant(binding: Binding, user: UserInfo): string {
  const namespace = namespaceOf(binding)
  const name = namespace === '' ? nameOf(binding) : `${nameOf(binding)}/${namespace}`
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'
  const subject = matchingSubject(binding, user)
  const whom = subject === undefined ? '' : ` to ${describeSubject(subject, namespace)}`
  return `${kind} ${goQuote(name)} of ${binding.roleRef.kind} ${goQuote(binding.roleRef.name)}${whom}`
}

/** Name before namespace: that is how these sentences have always been written. */
function describeSubject({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  return `${kind} ${goQuote(kind === 'ServiceAccount' ? `${name}/${namespace || bindingNamespace}` : name)}`
}
