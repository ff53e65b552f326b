/** `LabelSelector` fields: their validation, and whether they select some labels. */
import { labelKeyBreaches, labelValueBreaches } from '../../kube/selectors/names.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../kube/status/field-error.ts'
import { checkEach, checkName } from './checks.ts'
import { type Fields, structs, text, textMap, texts } from './fields.ts'
import { checkLabels } from './metadata.ts'

export function checkLabelSelector(selector: Fields | undefined, path: string): FieldError[] {
  if (selector === undefined) return []
  return [
    ...checkLabels(textMap(selector, 'matchLabels'), `${path}.matchLabels`),
    ...checkEach(structs(selector, 'matchExpressions'), `${path}.matchExpressions`, checkRequirement),
  ]
}

/** Label names and values of one requirement; the operators of a LabelSelector. */
function checkRequirement(requirement: Fields, path: string): FieldError[] {
  return [
    ...checkOperator(requirement, path),
    ...checkName(text(requirement, 'key'), `${path}.key`, labelKeyBreaches),
    ...checkEach(texts(requirement, 'values'), `${path}.values`, (value, at) =>
      checkName(value, at, labelValueBreaches),
    ),
  ]
}

function checkOperator(requirement: Fields, path: string): FieldError[] {
  const operator = text(requirement, 'operator')
  const values = texts(requirement, 'values')
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'"
    return values.length === 0 ? [requiredField(`${path}.values`, detail)] : []
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    return values.length > 0 ? [forbiddenField(`${path}.values`, detail)] : []
  }
  return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
}

export function isEmptySelector(selector: Fields | undefined): boolean {
  return (
    Object.keys(textMap(selector, 'matchLabels')).length === 0 && structs(selector, 'matchExpressions').length === 0
  )
}

/** Whether a selector that passed validation selects the labels; an absent one selects nothing. */
export function selectorMatches(selector: Fields | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return false
  const wanted = Object.entries(textMap(selector, 'matchLabels'))
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    structs(selector, 'matchExpressions').every((requirement) => requirementMatches(requirement, labels))
  )
}

function requirementMatches(requirement: Fields, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[text(requirement, 'key')]
  switch (text(requirement, 'operator')) {
    case 'In':
      return value !== undefined && texts(requirement, 'values').includes(value)
    case 'NotIn':
      return value === undefined || !texts(requirement, 'values').includes(value)
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}
