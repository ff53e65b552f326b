/** Checks of single values that many kinds share. Each answers with field errors, none when the value is fine. */
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../kube/status/field-error.ts'
import { sameStored } from './equality.ts'
import type { NameRule } from './names.ts'

export const IMMUTABLE = 'field is immutable'
export const NOT_NEGATIVE = 'must be greater than or equal to 0'
export const POSITIVE = 'must be greater than zero'

/** One `Invalid value` for each explanation of a rule. */
export function checkName(name: string, path: string, rule: NameRule): FieldError[] {
  return rule(name).map((breach) => invalidField(path, name, breach))
}

export function checkRequiredName(name: string, path: string, rule: NameRule, detail = ''): FieldError[] {
  return name === '' ? [requiredField(path, detail)] : checkName(name, path, rule)
}

export function checkRequired(value: string, path: string, detail = ''): FieldError[] {
  return value === '' ? [requiredField(path, detail)] : []
}

export function checkNotNegative(value: number | undefined, path: string): FieldError[] {
  return value !== undefined && value < 0 ? [invalidField(path, value, NOT_NEGATIVE)] : []
}

export function checkPositive(value: number | undefined, path: string): FieldError[] {
  return value !== undefined && value <= 0 ? [invalidField(path, value, POSITIVE)] : []
}

export function checkNumber(
  value: number | undefined,
  path: string,
  rule: (value: number) => readonly string[],
): FieldError[] {
  return value === undefined ? [] : rule(value).map((breach) => invalidField(path, value, breach))
}

/** The supported values are listed in the given order: the API server sorts most of them. */
export function checkSupported(value: string, path: string, supported: readonly string[]): FieldError[] {
  return supported.includes(value) ? [] : [notSupportedField(path, value, supported)]
}

export function checkRequiredSupported(value: string, path: string, supported: readonly string[]): FieldError[] {
  return value === '' ? [requiredField(path)] : checkSupported(value, path, supported)
}

export function checkImmutable(value: unknown, old: unknown, path: string, detail = IMMUTABLE): FieldError[] {
  return sameStored(value, old) ? [] : [invalidField(path, value ?? null, detail)]
}

/** Whether an equal item stands before, asked for one item after another in their order. */
export function repetitions(): (item: string | number) => boolean {
  const seen = new Set<string | number>()
  return (item) => {
    const isRepeated = seen.has(item)
    seen.add(item)
    return isRepeated
  }
}

/** All errors of the items of a list, each checked under its own path. */
export function checkEach<T>(
  items: readonly T[],
  path: string,
  check: (item: T, path: string, index: number) => readonly FieldError[],
): FieldError[] {
  return items.flatMap((item, index) => check(item, `${path}[${index}]`, index))
}
