/** Conditions in a status: one of each type, and a time that moves only when the verdict does. */
import { ensureStruct, type Fields, structs, text } from '../../kinds/fields.ts'

export interface NewCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
}

/** The condition of this type; undefined when the status has none. */
export function findCondition(object: Fields, type: string): Fields | undefined {
  return structs(ensureStruct(object, 'status'), 'conditions').find((condition) => text(condition, 'type') === type)
}

/** Puts the condition into the status, in place, instead of the one of its type that was there. */
export function setCondition(object: Fields, condition: NewCondition, now: string): void {
  const status = ensureStruct(object, 'status')
  const conditions = structs(status, 'conditions')
  const index = conditions.findIndex((candidate) => text(candidate, 'type') === condition.type)
  const before = conditions[index]
  const isSameVerdict = before !== undefined && text(before, 'status') === condition.status
  const next = { ...condition, lastTransitionTime: isSameVerdict ? before['lastTransitionTime'] : now }
  if (before === undefined) conditions.push(next)
  else conditions[index] = next
  status['conditions'] = conditions
}
