/** Answers the four kinds of access review. Refused reviews throw; an answer is the review with its status. */

import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import type { FieldError } from '../../kube/status/field-error.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { invalid } from '../../kube/status/resource-errors.ts'
import { type Authorizer, joinErrors, type PolicyRule } from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'
import { questionOf } from './review-attributes.ts'
import {
  type AccessReview,
  AUTHORIZATION_API_VERSION,
  AUTHORIZATION_GROUP,
  type ReviewedAccess,
  type ReviewedSubject,
  type RulesReview,
} from './review-objects.ts'
import {
  localSubjectAccessReviewErrors,
  selfSubjectAccessReviewErrors,
  subjectAccessReviewErrors,
} from './review-validation.ts'

export function reviewSubjectAccess(review: AccessReview, authorizer: Authorizer): KubeObject {
  refuse(subjectAccessReviewErrors(review))
  const spec = review.spec ?? {}
  return answer('SubjectAccessReview', review, spec, subjectOf(spec), authorizer)
}

export function reviewLocalSubjectAccess(
  review: AccessReview,
  requestNamespace: string,
  authorizer: Authorizer,
): KubeObject {
  const namespace = review.metadata?.namespace || requestNamespace
  if (namespace !== requestNamespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  const located: AccessReview = { ...review, metadata: { ...review.metadata, namespace } }
  refuse(localSubjectAccessReviewErrors(located))
  const spec = located.spec ?? {}
  return answer('LocalSubjectAccessReview', located, spec, subjectOf(spec), authorizer)
}

export function reviewSelfSubjectAccess(review: AccessReview, user: UserInfo, authorizer: Authorizer): KubeObject {
  refuse(selfSubjectAccessReviewErrors(review))
  return answer('SelfSubjectAccessReview', review, review.spec ?? {}, user, authorizer)
}

/** The API server does not repeat the question in this answer. */
export function reviewSelfSubjectRules(review: RulesReview, user: UserInfo, authorizer: Authorizer): KubeObject {
  const namespace = review.spec?.namespace ?? ''
  if (namespace === '') throw badRequest('no namespace on request')
  const { rules, incomplete, errors } = authorizer.rulesFor(user, namespace)
  const status = {
    resourceRules: rules.filter(({ resources }) => (resources ?? []).length > 0).map(resourceRule),
    nonResourceRules: rules.filter(({ nonResourceURLs }) => (nonResourceURLs ?? []).length > 0).map(nonResourceRule),
    incomplete,
    ...(errors.length === 0 ? {} : { evaluationError: joinErrors(errors) }),
  }
  return { kind: 'SelfSubjectRulesReview', apiVersion: AUTHORIZATION_API_VERSION, metadata: {}, spec: {}, status }
}

/** The kind is empty in these messages: the API server has forgotten it by the time it validates. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: AUTHORIZATION_GROUP, kind: '' }, '', errors)
}

function subjectOf({ user, uid, groups, extra }: ReviewedSubject): UserInfo {
  return { name: user ?? '', uid: uid ?? '', groups: groups ?? [], extra: extra ?? {} }
}

function answer(
  kind: string,
  review: AccessReview,
  access: ReviewedAccess,
  user: UserInfo,
  authorizer: Authorizer,
): KubeObject {
  const { attributes, problems } = questionOf(access, user)
  const { verdict, reason } = authorizer.authorize(attributes)
  const status = presentFields({
    allowed: verdict === 'allow',
    denied: verdict === 'deny' ? true : undefined,
    reason: reason === '' ? undefined : reason,
    evaluationError: problems.length === 0 ? undefined : problems.join('; '),
  })
  return { kind, apiVersion: AUTHORIZATION_API_VERSION, metadata: review.metadata ?? {}, spec: access, status }
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): object {
  const names = resourceNames?.length === 0 ? undefined : resourceNames
  return presentFields({ verbs, apiGroups, resources, resourceNames: names })
}

function nonResourceRule({ verbs, nonResourceURLs }: PolicyRule): object {
  return presentFields({ verbs, nonResourceURLs })
}
