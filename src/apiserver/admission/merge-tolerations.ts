/** Two lists of tolerations as one, without those that another one covers. */
import { badRequest } from '../../kube/status/request-errors.ts'
import { sameValue } from '../kinds/equality.ts'
import { type Fields, integer, text } from '../kinds/fields.ts'

/** More than any pod has: whether one covers another is asked of each pair. */
const MAX_MERGED_TOLERATIONS = 200

export function mergeTolerations(first: readonly Fields[], second: readonly Fields[]): Fields[] {
  const all = [...first, ...second]
  if (all.length > MAX_MERGED_TOLERATIONS) {
    throw badRequest(`the pod and its runtime class have more than ${MAX_MERGED_TOLERATIONS} tolerations together`)
  }
  const merged: Fields[] = []
  for (const [index, toleration] of all.entries()) {
    // Of equal ones the first stays.
    const isCovered =
      merged.some((other) => covers(other, toleration)) ||
      all.slice(index + 1).some((other) => !sameValue(other, toleration) && covers(other, toleration))
    if (!isCovered) merged.push(toleration)
  }
  return merged
}

/** Whether everything that the narrow one tolerates is tolerated by the wide one. */
function covers(wide: Fields, narrow: Fields): boolean {
  if (sameValue(wide, narrow)) return true
  const operator = text(wide, 'operator')
  const hasAllKeys = text(wide, 'key') === '' && operator === 'Exists'
  if (!hasAllKeys && text(wide, 'key') !== text(narrow, 'key')) return false
  if (text(wide, 'effect') !== '' && text(wide, 'effect') !== text(narrow, 'effect')) return false
  if (text(wide, 'effect') === 'NoExecute' && !lastsAsLong(wide, narrow)) return false
  if (operator === 'Exists') return true
  if (operator !== 'Equal' && operator !== '') return false
  return text(narrow, 'operator') === 'Equal' && text(narrow, 'value') === text(wide, 'value')
}

/** Without seconds it lasts for ever. */
function lastsAsLong(wide: Fields, narrow: Fields): boolean {
  const wideSeconds = integer(wide, 'tolerationSeconds')
  return wideSeconds === undefined || (integer(narrow, 'tolerationSeconds') ?? Number.POSITIVE_INFINITY) <= wideSeconds
}
