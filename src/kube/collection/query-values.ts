/** Values of query parameters, converted as an API server converts them. */
import type { RequestQuery } from '../request-query.ts'
import { parseInt64 } from '../selectors/label-requirement.ts'
import { badRequest } from '../status/request-errors.ts'

/** Undefined where the parameter is missing; empty is no number. */
export function integerParameter(query: RequestQuery, name: string): number | undefined {
  const text = query.first(name)
  if (text === undefined) return undefined
  const value = parseInt64(text)
  if (value === undefined) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(value)
}

/** Absent is not false; present is true, unless it says the opposite. */
export function flagParameter(query: RequestQuery, name: string): boolean | undefined {
  return query.has(name) ? query.isSet(name) : undefined
}
