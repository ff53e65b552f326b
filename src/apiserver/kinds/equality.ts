/**
 * Equality as the API server sees it, once for objects in any spelling and once for objects as they are stored.
 */
import { isFields } from './fields.ts'

/** An absent field, an empty list, an empty map and a zero value are one and the same: for objects that people wrote. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (isZero(left) && isZero(right)) return true
  return sameParts(left, right, sameValue)
}

/**
 * For objects that the codec has put in order: zero values that mean nothing are gone from both, so an empty struct on one
 * side only is a difference. Lists and maps still have no difference between absent and empty.
 */
export function sameStored(left: unknown, right: unknown): boolean {
  if (isAbsent(left) && isAbsent(right)) return true
  return sameParts(left, right, sameStored)
}

function sameParts(left: unknown, right: unknown, same: (left: unknown, right: unknown) => boolean): boolean {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => same(item, right[index]))
  }
  if (!isFields(left) || !isFields(right)) return false
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].every((name) => same(left[name], right[name]))
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function isZero(value: unknown): boolean {
  if (isAbsent(value) || value === '' || value === 0 || value === false) return true
  return isFields(value) && Object.values(value).every(isZero)
}
