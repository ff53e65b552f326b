/** What is asked of an authorizer, and what it answers. */
import { accessDenied } from '../../kube/status/access-denied.ts'
import type { UserInfo } from './user.ts'

export interface ResourceAttributes {
  readonly kind: 'resource'
  readonly user: UserInfo
  readonly verb: string
  readonly namespace: string
  readonly apiGroup: string
  readonly apiVersion: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
  /** Unparsed; the Node authorizer looks at the field selector of list and watch. */
  readonly fieldSelector: string
  readonly labelSelector: string
}

export interface NonResourceAttributes {
  readonly kind: 'non-resource'
  readonly user: UserInfo
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | NonResourceAttributes

/** `no-opinion` from every authorizer is a refusal; `deny` from one ends the question at once. */
export interface Decision {
  readonly verdict: 'allow' | 'deny' | 'no-opinion'
  readonly reason: string
}

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** `incomplete` when rules may exist that could not be listed; `errors` say why some could not be resolved. */
export interface RuleListing {
  readonly rules: readonly PolicyRule[]
  readonly incomplete: boolean
  readonly errors: readonly string[]
}

export interface Authorizer {
  /** Synchronous on purpose: authorizers decide on state they hold in memory. */
  authorize(attributes: Attributes): Decision
  /** The rules that apply to a user in a namespace, for SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): RuleListing
}

/** Throws the refusal, unless all is well. For rights that a request turns out to need on its way. */
export function allow(authorizer: Authorizer, attributes: Attributes): void {
  const { verdict, reason } = authorizer.authorize(attributes)
  if (verdict !== 'allow') throw accessDenied(attributes.user.name, attributes, reason)
}

export const ALLOWED: Decision = { verdict: 'allow', reason: '' }
export const NO_OPINION: Decision = { verdict: 'no-opinion', reason: '' }
export const NO_RULES: RuleListing = { rules: [], incomplete: false, errors: [] }

export function noOpinion(reason: string): Decision {
  return { verdict: 'no-opinion', reason }
}

/** Several errors as the API server prints them: equal ones once, more than one in brackets. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}
