/** What is wrong with a review, in the API server's words. */
import type { ObjectMeta } from '../../kube/objects.ts'
import { labelKeyBreaches, labelValueBreaches } from '../../kube/selectors/names.ts'
import {
  childPath,
  type FieldError,
  fieldPath,
  forbiddenField,
  invalidField,
  keyedPath,
  requiredField,
} from '../../kube/status/field-error.ts'
import type {
  AccessReview,
  ReviewedAccess,
  ReviewedPath,
  ReviewedSubject,
  SelectorAttributes,
  SelectorRequirement,
} from './review-objects.ts'

const RESOURCE_PATH = 'spec.resourceAttributes'
const NON_RESOURCE_PATH = 'spec.nonResourceAttributes'

export function subjectAccessReviewErrors(review: AccessReview): FieldError[] {
  return [...subjectErrors(review.spec ?? {}), ...metadataErrors(review, [], 'must be empty')]
}

export function selfSubjectAccessReviewErrors(review: AccessReview): FieldError[] {
  const spec = review.spec ?? {}
  return [...choiceErrors(spec), ...selectorErrors(spec), ...metadataErrors(review, [], 'must be empty')]
}

export function localSubjectAccessReviewErrors(review: AccessReview): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = review.spec ?? {}
  const errors = [
    ...subjectErrors(review.spec ?? {}),
    ...metadataErrors(review, ['namespace'], 'must be empty except for namespace'),
  ]
  const namespace = resourceAttributes?.namespace ?? ''
  if (resourceAttributes && namespace !== (review.metadata?.namespace ?? '')) {
    errors.push(invalidField(`${RESOURCE_PATH}.namespace`, namespace, 'must match metadata.namespace'))
  }
  if (nonResourceAttributes) {
    const detail = 'disallowed on this kind of request'
    errors.push(invalidField(NON_RESOURCE_PATH, printedPath(nonResourceAttributes), detail))
  }
  return errors
}

function subjectErrors(spec: ReviewedSubject): FieldError[] {
  const isNobody = !spec.user && (spec.groups ?? []).length === 0
  const nobody = invalidField('spec.user', '', 'at least one of user or group must be specified')
  return [...choiceErrors(spec), ...(isNobody ? [nobody] : []), ...selectorErrors(spec)]
}

function choiceErrors({ resourceAttributes, nonResourceAttributes }: ReviewedAccess): FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    return [invalidField(NON_RESOURCE_PATH, printedPath(nonResourceAttributes), detail)]
  }
  if (resourceAttributes || nonResourceAttributes) return []
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  return [invalidField(RESOURCE_PATH, null, detail)]
}

/** The API server prints these with the field names of its Go type. */
function printedPath({ path = '', verb = '' }: ReviewedPath): object {
  return { Path: path, Verb: verb }
}

/** Managed fields may be there: the server itself puts them on what clients send. */
function metadataErrors(review: AccessReview, allowed: readonly (keyof ObjectMeta)[], detail: string): FieldError[] {
  const metadata = review.metadata ?? {}
  const present = Object.keys(metadata).filter(
    (key) => key !== 'managedFields' && !allowed.some((name) => name === key),
  )
  return present.length === 0 ? [] : [invalidField('metadata', metadata, detail)]
}

function selectorErrors({ resourceAttributes }: ReviewedAccess): FieldError[] {
  const { fieldSelector, labelSelector } = resourceAttributes ?? {}
  return [
    ...oneSelectorErrors(fieldSelector, `${RESOURCE_PATH}.fieldSelector`, fieldRequirementErrors),
    ...oneSelectorErrors(labelSelector, `${RESOURCE_PATH}.labelSelector`, labelRequirementErrors),
  ]
}

function oneSelectorErrors(
  selector: SelectorAttributes | undefined,
  path: string,
  requirementErrors: (requirement: SelectorRequirement, path: string) => FieldError[],
): FieldError[] {
  if (!selector) return []
  const rawSelector = selector.rawSelector ?? ''
  const requirements = selector.requirements ?? []
  const errors: FieldError[] = []
  if (rawSelector !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements'
    errors.push(invalidField(childPath(path, 'rawSelector'), rawSelector, detail))
  }
  if (rawSelector === '' && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`
    errors.push(requiredField(childPath(path, 'requirements'), detail))
  }
  return errors.concat(
    requirements.flatMap((each, index) => requirementErrors(each, fieldPath(path, 'requirements', index))),
  )
}

function fieldRequirementErrors(requirement: SelectorRequirement, path: string): FieldError[] {
  const keyErrors = requirement.key === '' ? [requiredField(childPath(path, 'key'), 'must be specified')] : []
  return [...keyErrors, ...valueCountErrors(requirement, path)]
}

function labelRequirementErrors(requirement: SelectorRequirement, path: string): FieldError[] {
  const keyPath = childPath(path, 'key')
  const valuesPath = childPath(path, 'values')
  return [
    ...valueCountErrors(requirement, path),
    ...labelKeyBreaches(requirement.key).map((breach) => invalidField(keyPath, requirement.key, breach)),
    ...(requirement.values ?? []).flatMap((value, index) =>
      labelValueBreaches(value).map((breach) => invalidField(keyedPath(valuesPath, index), value, breach)),
    ),
  ]
}

/** Operators that nobody knows yet are let through: a newer client may, and the review then ignores them. */
function valueCountErrors({ operator, values }: SelectorRequirement, path: string): FieldError[] {
  const count = values?.length ?? 0
  const valuesPath = childPath(path, 'values')
  if ((operator === 'In' || operator === 'NotIn') && count === 0) {
    return [requiredField(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'")]
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && count > 0) {
    return [forbiddenField(valuesPath, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
  }
  return []
}
