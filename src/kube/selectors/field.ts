/** Field selectors: comparisons of single fields (`status.phase!=Running`), escaped with backslashes. */
import { goQuote } from '../status/go-text.ts'
import { badRequest } from '../status/request-errors.ts'
import { checkSelectorCount, checkSelectorLength, MAX_SELECTOR_REQUIREMENTS } from './limits.ts'

export interface FieldTerm {
  /** As written: a field name has no escapes. */
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** All terms must hold; none at all matches everything. */
export type FieldSelector =
  | { readonly matches: 'nothing' }
  | { readonly matches: 'terms'; readonly terms: readonly FieldTerm[] }

export const EVERY_FIELD: FieldSelector = { matches: 'terms', terms: [] }
export const NO_FIELD: FieldSelector = { matches: 'nothing' }

/** Gives the value of a field, and the empty string where there is none. */
export type FieldGetter = (field: string) => string

/** Throws a 400 with the API server's message. */
export function parseFieldSelector(text: string): FieldSelector {
  checkSelectorLength('field selector', text)
  const parts = splitTerms(text)
  checkSelectorCount('field selector terms', parts.length, MAX_SELECTOR_REQUIREMENTS)
  const terms = parts.toSorted().map((part) => parseTerm(text, part))
  // A lone operator says nothing about nothing, and the API server drops it.
  return { matches: 'terms', terms: terms.filter(({ field, value }) => field !== '' || value !== '') }
}

/** Escaped commas stay inside their term, with the backslash. Empty terms are left out. */
function splitTerms(text: string): string[] {
  return text.match(/(?:\\.|[^\\,]|\\$)+/gs) ?? []
}

// The first operator counts: what follows belongs to the value, and must be escaped there.
const termRegExp = /^(.*?)(!=|==|=)(.*)$/s

function parseTerm(selector: string, part: string): FieldTerm {
  const [, field, operator, value] = termRegExp.exec(part) ?? []
  if (field === undefined || operator === undefined || value === undefined) {
    throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`)
  }
  return { field, operator: operator === '!=' ? '!=' : '=', value: unescapeFieldValue(value) }
}

export function escapeFieldValue(value: string): string {
  return value.replaceAll(/[\\,=]/g, (character) => `\\${character}`)
}

export function unescapeFieldValue(escaped: string): string {
  return escaped.replaceAll(/\\(.?)|[,=]/gsu, (sequence, character: string | undefined) => {
    if (character === undefined) {
      // The API server prints the character's number here.
      throw badRequest(`invalid field selector: unescaped character in value: ${sequence.codePointAt(0) ?? 0}`)
    }
    if (character !== '' && '\\,='.includes(character)) return character
    throw badRequest(`invalid field selector: invalid escape sequence: ${sequence}`)
  })
}

/** Terms made by the program instead of a client; a field that could not be read back is refused. */
export function fieldSelector(terms: readonly FieldTerm[]): FieldSelector {
  for (const { field } of terms) {
    if (/[\\,=]|!$/.test(field)) throw badRequest(`field ${goQuote(field)} cannot be part of a field selector`)
  }
  return parseFieldSelector(terms.map(formatTerm).join(','))
}

/** The text form, which parses back to the same terms, sorted. `NO_FIELD` has none of its own: it prints as nothing. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector.matches === 'nothing' ? '' : selector.terms.map(formatTerm).join(',')
}

function formatTerm({ field, operator, value }: FieldTerm): string {
  return `${field}${operator}${escapeFieldValue(value)}`
}

/** Equal for selectors that differ only in order, repetition and `==` for `=`. */
export function fieldSelectorKey(selector: FieldSelector): string {
  if (selector.matches === 'nothing') return '<nothing>'
  return [...new Set(selector.terms.map(formatTerm))].toSorted().join(',')
}

export function matchesFields(selector: FieldSelector, get: FieldGetter): boolean {
  if (selector.matches === 'nothing') return false
  return selector.terms.every(({ field, operator, value }) => (get(field) === value) === (operator === '='))
}

/** True when the selector lets every object through. */
export function isEmptyFieldSelector(selector: FieldSelector): boolean {
  return selector.matches === 'terms' && selector.terms.length === 0
}

/** The value that the first `=` term on this field asks for. */
export function requiresExactMatch(selector: FieldSelector, field: string): string | undefined {
  if (selector.matches === 'nothing') return undefined
  return selector.terms.find((term) => term.field === field && term.operator === '=')?.value
}

/** The fields that every resource can be selected by. */
const METADATA_FIELDS: readonly string[] = ['metadata.name', 'metadata.namespace']

/**
 * Throws a 400 for a field that the resource cannot be selected by, in the words the API server has for resources with
 * fields of their own, and in those it has for all others.
 */
export function checkSelectableFields(selector: FieldSelector, extraFields: readonly string[]): void {
  if (selector.matches === 'nothing') return
  for (const { field } of selector.terms) {
    if (METADATA_FIELDS.includes(field) || extraFields.includes(field)) continue
    if (extraFields.length > 0) throw badRequest(`field label not supported: ${field}`)
    const known = METADATA_FIELDS.map(goQuote).join(', ')
    throw badRequest(`${goQuote(field)} is not a known field selector: only ${known}`)
  }
}
