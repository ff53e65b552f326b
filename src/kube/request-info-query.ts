/**
 * The query of a request, read as the API server reads it: a pair with a semicolon or a broken escape does not exist,
 * the first of several values counts. A reader with other rules would see another request than the server does.
 */
import { badRequest } from './status/request-errors.ts'

/** A watch with everything set has about ten. */
export const MAX_QUERY_PARAMETERS = 1024

export type Query = ReadonlyMap<string, readonly string[]>

export function parseQuery(rawQuery: string): Query {
  const query = new Map<string, string[]>()
  const pairs = rawQuery.split('&')
  if (pairs.length > MAX_QUERY_PARAMETERS) {
    throw badRequest(`the query has ${pairs.length} parameters, at most ${MAX_QUERY_PARAMETERS} are allowed`)
  }
  for (const pair of pairs) {
    if (pair === '' || pair.includes(';') || hasBrokenEscape(pair)) continue
    const equals = pair.indexOf('=')
    const name = decodeFormText(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decodeFormText(pair.slice(equals + 1))
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

/** The value that counts, or undefined when the parameter is not there. */
export function firstValue(query: Query, name: string): string | undefined {
  return query.get(name)?.[0]
}

/** Present and neither `0` nor `false`: `?watch` and `?watch=` ask for a watch. */
export function isSet(query: Query, name: string): boolean {
  const value = firstValue(query, name)
  return value !== undefined && value !== '0' && value.toLowerCase() !== 'false'
}

export function hasBrokenEscape(text: string): boolean {
  return /%(?![0-9A-Fa-f]{2})/.test(text)
}

function decodeFormText(text: string): string {
  return decodeEscapes(text.replaceAll('+', ' '), 'query')
}

/** Bytes that are not UTF-8 have no faithful text, and two different ones must never look alike: they are refused. */
export function decodeEscapes(text: string, where: 'path' | 'query'): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw badRequest(`the ${where} of the request is not valid UTF-8 after percent-decoding`, { cause: error })
  }
}
