/** The single rules of a LimitRange. Each returns the sentence that says how it is broken, or nothing. */
import { type Amounts, canonical, quantityInMilli } from './amounts.ts'

export interface LimitedAmounts {
  readonly requests: Amounts
  readonly limits: Amounts
}

export interface LimitRule {
  /** `Container`, `Pod` or `PersistentVolumeClaim`. */
  readonly type: string
  readonly resource: string
  readonly bound: string
}

type Constraint = (rule: LimitRule, amounts: LimitedAmounts) => string | undefined

export const minimum: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `minimum ${resource} usage per ${type} is ${canonical(bound)}`
  const [request, limit] = [requests[resource], limits[resource]]
  if (request === undefined) return `${sentence}.  No request is specified`
  if (isLess(request, bound)) return `${sentence}, but request is ${canonical(request)}`
  if (limit !== undefined && isLess(limit, bound)) return `${sentence}, but limit is ${canonical(limit)}`
  return undefined
}

export const maximum: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `maximum ${resource} usage per ${type} is ${canonical(bound)}`
  const [request, limit] = [requests[resource], limits[resource]]
  if (limit === undefined) return `${sentence}.  No limit is specified`
  if (isLess(bound, limit)) return `${sentence}, but limit is ${canonical(limit)}`
  if (request !== undefined && isLess(bound, request)) return `${sentence}, but request is ${canonical(request)}`
  return undefined
}

/** Claims have requests only. */
export const maximumRequest: Constraint = ({ type, resource, bound }, { requests }) => {
  const sentence = `maximum ${resource} usage per ${type} is ${canonical(bound)}`
  const request = requests[resource]
  if (request === undefined) return `${sentence}.  No request is specified`
  return isLess(bound, request) ? `${sentence}, but request is ${canonical(request)}` : undefined
}

export const maximumRatio: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `${resource} max limit to request ratio per ${type} is ${canonical(bound)}`
  const request = quantityInMilli(requests[resource] ?? '0')
  const limit = quantityInMilli(limits[resource] ?? '0')
  if (request === 0n) return `${sentence}, but no request is specified or request is 0`
  if (limit === 0n) return `${sentence}, but no limit is specified or limit is 0`
  const ratio = Number(limit) / Number(request)
  const isMore = ratio * 1000 > Number(quantityInMilli(bound))
  return isMore ? `${sentence}, but provided ratio is ${ratio.toFixed(6)}` : undefined
}

/** All resources that one field of a limit bounds, in order of names. */
export function breaches(check: Constraint, type: string, bounds: Amounts, amounts: LimitedAmounts): string[] {
  return Object.keys(bounds)
    .sort()
    .map((resource) => check({ type, resource, bound: bounds[resource] ?? '0' }, amounts))
    .filter((breach) => breach !== undefined)
}

function isLess(left: string, right: string): boolean {
  return quantityInMilli(left) < quantityInMilli(right)
}
