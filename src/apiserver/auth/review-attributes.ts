/** From what a review asks to the question for the authorizer. Selectors that cannot be read are left out, and reported. */
import { type FieldTerm, fieldSelector, formatFieldSelector, parseFieldSelector } from '../../kube/selectors/field.ts'
import { formatLabelSelector, labelSelectorFromObject, parseLabelSelector } from '../../kube/selectors/label.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { Attributes } from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'
import type { ReviewedAccess, ReviewedResource, SelectorAttributes, SelectorRequirement } from './review-objects.ts'

export interface Question {
  readonly attributes: Attributes
  /** What was ignored, for the status of the review. */
  readonly problems: readonly string[]
}

/** Leaving out a requirement asks for more than the client wanted to know: never a wrong yes, at most a wrong no. */
interface ReadSelector {
  readonly text: string
  readonly unread: 'nothing' | 'some' | 'all'
}

export function questionOf({ resourceAttributes, nonResourceAttributes }: ReviewedAccess, user: UserInfo): Question {
  if (resourceAttributes) return resourceQuestion(resourceAttributes, user)
  const { path = '', verb = '' } = nonResourceAttributes ?? {}
  return { attributes: { kind: 'non-resource', user, verb, path }, problems: [] }
}

function resourceQuestion(reviewed: ReviewedResource, user: UserInfo): Question {
  const fields = readSelector(reviewed.fieldSelector ?? {}, fieldText, readFieldRequirement)
  const labels = readSelector(reviewed.labelSelector ?? {}, labelText, readLabelRequirement)
  const attributes: Attributes = {
    kind: 'resource',
    user,
    verb: reviewed.verb ?? '',
    namespace: reviewed.namespace ?? '',
    apiGroup: reviewed.group ?? '',
    apiVersion: reviewed.version || '*',
    resource: reviewed.resource ?? '',
    subresource: reviewed.subresource ?? '',
    name: reviewed.name ?? '',
    fieldSelector: fields.text,
    labelSelector: labels.text,
  }
  return { attributes, problems: [...problemOf('fieldSelector', fields), ...problemOf('labelSelector', labels)] }
}

function problemOf(field: string, { unread }: ReadSelector): string[] {
  if (unread === 'nothing') return []
  return [`spec.resourceAttributes.${field} ${unread === 'some' ? 'partially ' : ''}ignored due to parse error`]
}

function readSelector(
  selector: SelectorAttributes,
  readText: (text: string) => string,
  readRequirement: (requirement: SelectorRequirement) => string,
): ReadSelector {
  const requirements = selector.requirements ?? []
  const texts =
    requirements.length > 0
      ? requirements.map((each) => attempt(() => readRequirement(each)))
      : [attempt(() => readText(selector.rawSelector ?? ''))]
  const read = texts.filter((text) => text !== undefined)
  const unread = read.length === texts.length ? 'nothing' : read.length === 0 ? 'all' : 'some'
  return { text: read.join(','), unread }
}

function attempt(read: () => string): string | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function fieldText(text: string): string {
  return formatFieldSelector(parseFieldSelector(text))
}

function labelText(text: string): string {
  return formatLabelSelector(parseLabelSelector(text))
}

/** Field selectors know no sets yet: exactly one value can be asked for or against. */
function readFieldRequirement({ key, operator, values }: SelectorRequirement): string {
  const [value, ...others] = values ?? []
  const term = fieldOperators[operator]
  if (term === undefined || value === undefined || others.length > 0)
    throw badRequest('not a field selector requirement')
  return formatFieldSelector(fieldSelector([{ field: key, operator: term, value }]))
}

const fieldOperators: Readonly<Record<string, FieldTerm['operator']>> = { In: '=', NotIn: '!=' }

function readLabelRequirement(requirement: SelectorRequirement): string {
  return formatLabelSelector(
    labelSelectorFromObject({ matchExpressions: [{ ...requirement, values: requirement.values ?? [] }] }),
  )
}
