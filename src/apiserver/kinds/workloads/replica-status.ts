/** The counters in the status of everything that keeps replicas. */
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'
import { checkNotNegative } from '../checks.ts'
import { type Fields, integer, struct } from '../fields.ts'

/** No counter is negative, and the parts are not more than the whole. `readyName` is how a refusal calls that counter. */
export function checkReplicaCounters(
  object: Fields,
  counters: readonly string[],
  parts: readonly string[],
  readyName = 'readyReplicas',
): FieldError[] {
  const status = struct(object, 'status')
  const count = (name: string): number => integer(status, name) ?? 0
  const tooMany = parts.flatMap((name) =>
    count(name) > count('replicas')
      ? [invalidField(`status.${name}`, count(name), 'cannot be greater than status.replicas')]
      : [],
  )
  const available = count('availableReplicas')
  return [
    ...counters.flatMap((name) => checkNotNegative(integer(status, name), `status.${name}`)),
    ...tooMany,
    ...(available > count('readyReplicas')
      ? [invalidField('status.availableReplicas', available, `cannot be greater than ${readyName}`)]
      : []),
  ]
}

export function checkCollisionCount(object: Fields, old: Fields): FieldError[] {
  const now = integer(struct(object, 'status'), 'collisionCount')
  const before = integer(struct(old, 'status'), 'collisionCount')
  if (before === undefined || (now ?? 0) >= before) return []
  return [invalidField('status.collisionCount', now ?? 0, 'cannot be decremented')]
}
