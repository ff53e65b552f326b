/**
 * The Accept header, read the way the API server reads it. That is deliberately simpler than RFC 9110: names are
 * case-sensitive, quotes mean nothing, malformed parts are passed over, `q=0` is last and not a refusal. A cleverer
 * reading would answer some clients differently from the server we stand in for.
 */
import { badRequest } from './status/request-errors.ts'

/** The longest header of a real client has about 200 characters and three clauses. */
export const MAX_ACCEPT_LENGTH = 8192
export const MAX_ACCEPT_CLAUSES = 64

export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

/** Best clause first. Throws a 400 only for a header beyond our limits. */
export function parseAccept(header: string): AcceptClause[] {
  if (header.length > MAX_ACCEPT_LENGTH) {
    throw badRequest(`Accept header is ${header.length} characters long, at most ${MAX_ACCEPT_LENGTH} are allowed`)
  }
  const clauses = header
    .split(',')
    .map(parseClause)
    .filter((clause) => clause !== undefined)
  if (clauses.length > MAX_ACCEPT_CLAUSES) {
    throw badRequest(`Accept header lists ${clauses.length} media types, at most ${MAX_ACCEPT_CLAUSES} are allowed`)
  }
  return sortClauses(clauses)
}

function parseClause(text: string): AcceptClause | undefined {
  const [essence = '', ...rest] = trimSpaces(text).split(';')
  const range = parseRange(essence)
  return range === undefined ? undefined : { ...range, ...parseParameters(rest) }
}

function parseRange(essence: string): { type: string; subtype: string } | undefined {
  const slash = essence.indexOf('/')
  const type = trimSpaces(slash === -1 ? essence : essence.slice(0, slash))
  const subtype = slash === -1 ? '' : essence.slice(slash + 1)
  if (subtype === '') return type === '*' ? { type, subtype: '*' } : undefined
  const [first = '', ...more] = subtype.split('/')
  return more.join('/') === '' ? { type, subtype: trimSpaces(first) } : undefined
}

function parseParameters(parts: readonly string[]): Pick<AcceptClause, 'quality' | 'parameters'> {
  const parameters = new Map<string, string>()
  let quality = 1
  for (const part of parts) {
    const equals = part.indexOf('=')
    const [value = '', ...more] = equals === -1 ? [] : part.slice(equals + 1).split('=')
    // `name`, `name=` and `name=a=b` are passed over; `name=a=` counts as `name=a`.
    if (equals === -1 || equals === part.length - 1 || more.join('=') !== '') continue
    const name = trimSpaces(part.slice(0, equals))
    if (name === 'q') quality = parseQuality(value)
    else parameters.set(name, trimSpaces(value))
  }
  return { quality, parameters }
}

/** What is not a number counts as 0. Not even spaces are forgiven. */
function parseQuality(text: string): number {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Math.fround(Number(text))
  const [, sign, word] = /^([+-]?)(inf|infinity)$/i.exec(text) ?? []
  if (word === undefined) return 0
  return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** Spaces only, no tabs. A regular expression would take quadratic time for a long run of spaces in the middle. */
export function trimSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text[start] === ' ') start++
  while (end > start && text[end - 1] === ' ') end--
  return text.slice(start, end)
}

/**
 * The server's order is not a proper one: a concrete type goes before a wildcard of higher quality when it comes
 * second, but not when it comes first. Only the same insertion gives the same result.
 */
function sortClauses(clauses: readonly AcceptClause[]): AcceptClause[] {
  const sorted: AcceptClause[] = []
  for (const clause of clauses) {
    let position = sorted.length
    for (
      let before = sorted[position - 1];
      before !== undefined && goesFirst(clause, before);
      before = sorted[position - 1]
    ) {
      position--
    }
    sorted.splice(position, 0, clause)
  }
  return sorted
}

function goesFirst(a: AcceptClause, b: AcceptClause): boolean {
  return a.quality > b.quality || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*')
}
