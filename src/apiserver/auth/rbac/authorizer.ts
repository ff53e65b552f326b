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
} from '../authorizer.ts'
import type { UserInfo } from '../user.ts'
import { matchingSubject } from './binding-index.ts'
import { grantsOf } from './grants.ts'
import { type Binding, nameOf, namespaceOf, RBAC_GROUP, type RoleRef, type Subject } from './objects.ts'
import { rulesAllow } from './rule-index.ts'
import type { RbacSource } from './view.ts'

/** Who has more is told that there are more. */
export const MAX_LISTED_RULES = 5_000

export class RbacAuthorizer implements Authorizer {
  readonly #source: RbacSource

  constructor(source: RbacSource) {
    this.#source = source
  }

  authorize(attributes: Attributes): Decision {
    const { user } = attributes
    const namespace = attributes.kind === 'resource' ? attributes.namespace : ''
    const errors = new Set<string>()
    // A role may be bound many times over.
    const asked = new Set<readonly PolicyRule[]>()
    for (const { binding, rules } of grantsOf(this.#source, user, namespace)) {
      if (rules === undefined) errors.add(unresolvedText(binding.roleRef))
      else if (!asked.has(rules) && rulesAllow(rules, attributes)) {
        return { verdict: 'allow', reason: `RBAC: allowed by ${describeGrant(binding, user)}` }
      } else asked.add(rules)
    }
    return errors.size === 0 ? NO_OPINION : noOpinion(`RBAC: ${joinErrors([...errors])}`)
  }

  rulesFor(user: UserInfo, namespace: string): RuleListing {
    const rules: PolicyRule[] = []
    const errors: string[] = []
    for (const grant of grantsOf(this.#source, user, namespace)) {
      if (grant.rules === undefined) errors.push(unresolvedText(grant.binding.roleRef))
      else for (const rule of grant.rules.slice(0, MAX_LISTED_RULES - rules.length)) rules.push(rule)
      if (rules.length >= MAX_LISTED_RULES) return { rules, incomplete: true, errors }
    }
    return { rules, incomplete: false, errors }
  }
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
