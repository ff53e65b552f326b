/** What is asked of an authorizer, and what it answers. */
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

export interface Authorizer {
  /** Synchronous on purpose: authorizers decide on state they hold in memory. */
  authorize(attributes: Attributes): Decision
  /** The rules that apply to a user in a namespace, for SelfSubjectRulesReview; `incomplete` when others may exist. */
  rulesFor(user: UserInfo, namespace: string): { readonly rules: readonly PolicyRule[]; readonly incomplete: boolean }
}
