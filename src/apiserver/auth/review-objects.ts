/** The review objects by which clients ask what somebody may do. They are answered and never stored. */
import type { KubeObject } from '../../kube/objects.ts'

export const AUTHORIZATION_GROUP = 'authorization.k8s.io'
export const AUTHORIZATION_API_VERSION = `${AUTHORIZATION_GROUP}/v1`

export interface SelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** A selector, either as the text or as the requirements: a review that has both is refused. */
export interface SelectorAttributes {
  readonly rawSelector?: string
  readonly requirements?: readonly SelectorRequirement[]
}

export interface ReviewedResource {
  readonly namespace?: string
  readonly verb?: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
  readonly fieldSelector?: SelectorAttributes
  readonly labelSelector?: SelectorAttributes
}

export interface ReviewedPath {
  readonly path?: string
  readonly verb?: string
}

export interface ReviewedAccess {
  readonly resourceAttributes?: ReviewedResource
  readonly nonResourceAttributes?: ReviewedPath
}

export interface ReviewedSubject extends ReviewedAccess {
  readonly user?: string
  readonly groups?: readonly string[]
  readonly uid?: string
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface AccessReview extends KubeObject {
  readonly spec?: ReviewedSubject
}

export interface RulesReview extends KubeObject {
  readonly spec?: { readonly namespace?: string }
}
