/** What a LimitRange says, read once for each of its states. */
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import { type Amounts, amountsOf } from './amounts.ts'
import type { Reading } from './lookup.ts'
import { type Totals, totalsOf } from './totals.ts'

/** Wider ranges are read again at each request, so that they take no memory. */
const MAX_KEPT_BOUNDS = 1_000
/** Of one object: each container is held against each resource of each LimitRange. Far more than there are in use. */
export const MAX_LIMIT_CHECKS = 10_000

export interface Limit {
  /** `Container`, `Pod` or `PersistentVolumeClaim`. */
  readonly type: string
  readonly min: Totals
  readonly max: Totals
  readonly ratio: Totals
  readonly defaultRequests: Amounts
  readonly defaultLimits: Amounts
}

export interface RangeFacts {
  /** How many limits there are, and amounts in them. */
  readonly bounds: number
  /** None where nobody could check them: there are more than `MAX_LIMIT_CHECKS` bounds. */
  readonly limits: readonly Limit[]
}

export const RANGE_READING: Reading<RangeFacts> = {
  read: rangeFacts,
  isKept: ({ bounds, limits }) => bounds <= MAX_KEPT_BOUNDS || limits.length === 0,
}

function rangeFacts(range: KubeObject): RangeFacts {
  const limits = structs(struct(range, 'spec'), 'limits')
  const bounds = limits.reduce((sum, limit) => sum + boundsOf(limit), 0)
  return { bounds, limits: bounds > MAX_LIMIT_CHECKS ? [] : limits.map(limitOf) }
}

function boundsOf(limit: Fields): number {
  const maps = Object.values(limit).filter((value) => typeof value === 'object' && value !== null)
  return maps.reduce<number>((sum, amounts) => sum + Object.keys(amounts).length, 1)
}

function limitOf(limit: Fields): Limit {
  return {
    type: text(limit, 'type'),
    min: totalsOf(limit, 'min'),
    max: totalsOf(limit, 'max'),
    ratio: totalsOf(limit, 'maxLimitRequestRatio'),
    defaultRequests: amountsOf(limit, 'defaultRequest'),
    defaultLimits: amountsOf(limit, 'default'),
  }
}
