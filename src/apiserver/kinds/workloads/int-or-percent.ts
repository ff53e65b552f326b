/** Numbers of pods that may also be written as a percentage. */
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'
import { checkName, checkNotNegative } from '../checks.ts'
import { type Fields, struct } from '../fields.ts'
import { explain } from '../names.ts'

const percentBreach = explain(
  "a valid percent string must be a numeric string followed by an ending '%'",
  '[0-9]+%',
  '1%',
  '93%',
)
const percentPattern = /^[0-9]+%$/

export function checkIntOrPercent(value: number | string, path: string): FieldError[] {
  if (typeof value === 'number') return checkNotNegative(value, path)
  return checkName(value, path, (text) => (percentPattern.test(text) ? [] : [percentBreach]))
}

export function checkAtMostHundredPercent(value: number | string, path: string): FieldError[] {
  const tooMuch = isPercent(value) && Number.parseInt(value, 10) > 100
  return tooMuch ? [invalidField(path, value, 'must not be greater than 100%')] : []
}

/** The bare number, with or without a percent sign; a text that is neither counts as 0. */
export function amountOf(value: number | string): number {
  if (typeof value === 'number') return value
  return isPercent(value) ? Number.parseInt(value, 10) : 0
}

function isPercent(value: number | string): value is string {
  return typeof value === 'string' && percentPattern.test(value)
}

/** How the API server prints a rolling update in a refusal: with the names of its Go fields. */
export function shownRollingUpdate(strategy: Fields): Fields | null {
  const rollingUpdate = struct(strategy, 'rollingUpdate')
  if (rollingUpdate === undefined) return null
  return { MaxUnavailable: rollingUpdate['maxUnavailable'] ?? 0, MaxSurge: rollingUpdate['maxSurge'] ?? 0 }
}
