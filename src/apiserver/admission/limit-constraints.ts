/** The single rules of a LimitRange. Each returns the sentence that says how it is broken, or nothing. */
import { inMilli } from './amounts.ts'
import { NOTHING, type Total, type Totals } from './totals.ts'

export interface LimitedAmounts {
  readonly requests: Totals
  readonly limits: Totals
}

export interface LimitRule {
  /** `Container`, `Pod` or `PersistentVolumeClaim`. */
  readonly type: string
  readonly resource: string
  readonly bound: Total
}

type Constraint = (rule: LimitRule, amounts: LimitedAmounts) => string | undefined

export const minimum: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `minimum ${resource} usage per ${type} is ${bound.text}`
  const [request, limit] = [requests.get(resource), limits.get(resource)]
  if (request === undefined) return `${sentence}.  No request is specified`
  if (isLess(request, bound)) return `${sentence}, but request is ${request.text}`
  if (limit !== undefined && isLess(limit, bound)) return `${sentence}, but limit is ${limit.text}`
  return undefined
}

export const maximum: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `maximum ${resource} usage per ${type} is ${bound.text}`
  const [request, limit] = [requests.get(resource), limits.get(resource)]
  if (limit === undefined) return `${sentence}.  No limit is specified`
  if (isLess(bound, limit)) return `${sentence}, but limit is ${limit.text}`
  if (request !== undefined && isLess(bound, request)) return `${sentence}, but request is ${request.text}`
  return undefined
}

/** Claims have requests only. */
export const maximumRequest: Constraint = ({ type, resource, bound }, { requests }) => {
  const sentence = `maximum ${resource} usage per ${type} is ${bound.text}`
  const request = requests.get(resource)
  if (request === undefined) return `${sentence}.  No request is specified`
  return isLess(bound, request) ? `${sentence}, but request is ${request.text}` : undefined
}

export const maximumRatio: Constraint = ({ type, resource, bound }, { requests, limits }) => {
  const sentence = `${resource} max limit to request ratio per ${type} is ${bound.text}`
  const request = inMilli((requests.get(resource) ?? NOTHING).nano)
  const limit = inMilli((limits.get(resource) ?? NOTHING).nano)
  if (request === 0n) return `${sentence}, but no request is specified or request is 0`
  if (limit === 0n) return `${sentence}, but no limit is specified or limit is 0`
  const ratio = Number(limit) / Number(request)
  const isMore = ratio * 1000 > Number(inMilli(bound.nano))
  return isMore ? `${sentence}, but provided ratio is ${ratio.toFixed(6)}` : undefined
}

/** All resources that one field of a limit bounds, in order of names. */
export function breaches(check: Constraint, type: string, bounds: Totals, amounts: LimitedAmounts): string[] {
  return [...bounds.keys()]
    .toSorted()
    .map((resource) => check({ type, resource, bound: bounds.get(resource) ?? NOTHING }, amounts))
    .filter((breach) => breach !== undefined)
}

function isLess(left: Total, right: Total): boolean {
  return inMilli(left.nano) < inMilli(right.nano)
}
