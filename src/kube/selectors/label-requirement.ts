/** One requirement of a label selector: a key, an operator and its values, checked when it is made. */
import {
  type FieldError,
  formatFieldErrors,
  invalidField,
  keyedPath,
  notSupportedField,
} from '../status/field-error.ts'
import { badRequest } from '../status/request-errors.ts'
import { checkSelectorCount, MAX_SELECTOR_VALUES } from './limits.ts'
import { labelKeyBreaches, labelValueBreaches } from './names.ts'

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  readonly values: readonly string[]
}

export type Labels = Readonly<Record<string, string>>

/** As the API server lists them in its messages. */
export const BINARY_LABEL_OPERATORS: readonly LabelOperator[] = ['in', 'notin', '=', '==', '!=', 'gt', 'lt']
const allOperators: readonly LabelOperator[] = [...BINARY_LABEL_OPERATORS, 'exists', '!']

/** Throws a 400 that names every breach. */
export function labelRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  checkSelectorCount(`values of label ${key}`, values.length, MAX_SELECTOR_VALUES)
  const errors = [...keyErrors(key), ...operatorErrors(operator, values), ...valueErrors(key, values)]
  if (errors.length > 0) throw badRequest(formatFieldErrors(errors))
  return { key, operator, values: [...values] }
}

function keyErrors(key: string): FieldError[] {
  const breaches = labelKeyBreaches(key)
  return breaches.length === 0 ? [] : [invalidField('key', key, breaches.join('; '))]
}

function operatorErrors(operator: LabelOperator, values: readonly string[]): FieldError[] {
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length > 0 ? [] : [badValues(values, "for 'in', 'notin' operators, values set can't be empty")]
    case '=':
    case '==':
    case '!=':
      return values.length === 1 ? [] : [badValues(values, 'exact-match compatibility requires one single value')]
    case 'exists':
    case '!':
      return values.length === 0 ? [] : [badValues(values, 'values set must be empty for exists and does not exist')]
    case 'gt':
    case 'lt':
      return comparisonErrors(values)
    default:
      return [notSupportedField('operator', operator, allOperators)]
  }
}

function comparisonErrors(values: readonly string[]): FieldError[] {
  const errors =
    values.length === 1 ? [] : [badValues(values, "for 'Gt', 'Lt' operators, exactly one value is required")]
  values.forEach((value, index) => {
    if (parseInt64(value) !== undefined) return
    const detail = "for 'Gt', 'Lt' operators, the value must be an integer"
    errors.push(invalidField(keyedPath('values', index), value, detail))
  })
  return errors
}

function badValues(values: readonly string[], detail: string): FieldError {
  return invalidField('values', values, detail)
}

function valueErrors(key: string, values: readonly string[]): FieldError[] {
  return values.flatMap((value, index) => {
    const breaches = labelValueBreaches(value)
    return breaches.length === 0
      ? []
      : [invalidField(keyedPath(keyedPath('values', index), key), value, breaches.join('; '))]
  })
}

export function matchesRequirement(requirement: LabelRequirement, labels: Labels): boolean {
  return acceptsValue(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined)
}

/** The value is that of the label; undefined where there is none. */
export function acceptsValue({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value)
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    default:
      return compares(operator, value, values[0])
  }
}

function compares(operator: 'gt' | 'lt', value: string | undefined, bound: string | undefined): boolean {
  const left = parseInt64(value ?? '')
  const right = parseInt64(bound ?? '')
  if (left === undefined || right === undefined) return false
  return operator === 'gt' ? left > right : left < right
}

const formattedOperators: Readonly<Record<Exclude<LabelOperator, 'exists' | '!'>, string>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  in: ' in ',
  notin: ' notin ',
  gt: '>',
  lt: '<',
}

export function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === 'exists') return key
  if (operator === '!') return `!${key}`
  const list = values.toSorted().join(',')
  const isSet = operator === 'in' || operator === 'notin'
  return `${key}${formattedOperators[operator]}${isSet ? `(${list})` : list}`
}

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
/** More digits cannot be an int64 unless they are leading zeros; a label value has room for 63 characters. */
const int64RegExp = /^[+-]?\d{1,63}$/

export function parseInt64(text: string): bigint | undefined {
  if (!int64RegExp.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined
}
