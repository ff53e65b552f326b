/** Validation errors of single fields, with the API server's wording, and paths to fields such as `spec.ports[0].name`. */
import { MAX_SHOWN_REASON_CHARACTERS, printValue, shortened } from './bounded-value.ts'
import { goQuote } from './go-text.ts'
import type { KnownCauseType } from './status.ts'

export type FieldErrorType = Extract<KnownCauseType, `FieldValue${string}` | 'InternalError'>

/** A field error whose bad value is not worth showing. */
export const OMITTED_VALUE: unique symbol = Symbol('omitted value')

export interface FieldError {
  readonly type: FieldErrorType
  readonly field: string
  readonly badValue: unknown
  readonly detail: string
}

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotFound: 'Not found',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueRequired: 'Required value',
  FieldValueTooFew: 'Too few',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooShort: 'Too short',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
}

const typesWithoutValue: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
])

export function requiredField(field: string, detail = ''): FieldError {
  return { type: 'FieldValueRequired', field, badValue: '', detail }
}

export function invalidField(field: string, badValue: unknown, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field, badValue, detail }
}

export function typeInvalidField(field: string, badValue: unknown, detail: string): FieldError {
  return { type: 'FieldValueTypeInvalid', field, badValue, detail }
}

export function notFoundField(field: string, badValue: unknown): FieldError {
  return { type: 'FieldValueNotFound', field, badValue, detail: '' }
}

export function duplicateField(field: string, badValue: unknown): FieldError {
  return { type: 'FieldValueDuplicate', field, badValue, detail: '' }
}

export function notSupportedField(field: string, badValue: unknown, supported: readonly string[]): FieldError {
  return { type: 'FieldValueNotSupported', field, badValue, detail: supportedText(supported) }
}

/** One list of supported values stands behind any number of errors. */
const supportedTexts = new WeakMap<readonly string[], string>()

function supportedText(supported: readonly string[]): string {
  let text = supportedTexts.get(supported)
  if (text === undefined) {
    text = supported.length === 0 ? '' : `supported values: ${supported.map(goQuote).join(', ')}`
    supportedTexts.set(supported, text)
  }
  return text
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { type: 'FieldValueForbidden', field, badValue: '', detail }
}

export function tooLongField(field: string, maxBytes: number): FieldError {
  return {
    type: 'FieldValueTooLong',
    field,
    badValue: OMITTED_VALUE,
    detail: `may not be more than ${counted(maxBytes, 'byte')}`,
  }
}

export function tooShortField(field: string, badValue: string, minCharacters: number): FieldError {
  return {
    type: 'FieldValueTooShort',
    field,
    badValue,
    detail: `must be at least ${counted(minCharacters, 'character')}`,
  }
}

export function tooManyField(field: string, actual: number | typeof OMITTED_VALUE, maxItems: number): FieldError {
  return {
    type: 'FieldValueTooMany',
    field,
    badValue: actual,
    detail: `must have at most ${counted(maxItems, 'item')}`,
  }
}

export function tooFewField(field: string, actual: number, minItems: number): FieldError {
  return {
    type: 'FieldValueTooFew',
    field,
    badValue: actual,
    detail: `must have at least ${counted(minItems, 'item')}`,
  }
}

export function internalFieldError(field: string, detail: string): FieldError {
  return { type: 'InternalError', field, badValue: OMITTED_VALUE, detail }
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The error without its field: what a Status cause carries as its message. */
function bodyOf({ type, badValue, detail }: FieldError): string {
  const title = titles[type]
  const showsValue = !typesWithoutValue.has(type) && badValue !== OMITTED_VALUE
  const body = showsValue ? `${title}: ${printValue(badValue)}` : title
  return detail === '' ? body : `${body}: ${shortened(detail, MAX_SHOWN_REASON_CHARACTERS)}`
}

/** An error in words, as an answer shows it. */
export interface FieldErrorText {
  readonly type: FieldErrorType
  readonly field: string
  readonly body: string
}

function textOf(error: FieldError): FieldErrorText {
  return { type: error.type, field: shortened(error.field), body: bodyOf(error) }
}

/** Errors of one object that are told; whoever has mended so many sees the next ones. */
const MAX_SHOWN_FIELD_ERRORS = 200
/** All of them together: a Status is read by people, and says each twice. */
const MAX_FIELD_ERROR_CHARACTERS = 64 * 1024

/** As many as an answer has room for: the first ones, and one more that says how many were left out. */
export function fieldErrorTexts(errors: readonly FieldError[]): readonly FieldErrorText[] {
  const texts: FieldErrorText[] = []
  let characters = 0
  for (const error of errors) {
    const text = textOf(error)
    characters += text.field.length + text.body.length
    const isFull = texts.length === MAX_SHOWN_FIELD_ERRORS || characters > MAX_FIELD_ERROR_CHARACTERS
    if (isFull && texts.length > 0) break
    texts.push(text)
  }
  const leftOut = errors.length - texts.length
  if (leftOut > 0) texts.push(textOf(internalFieldError('...', `${leftOut} more errors are not shown`)))
  return texts
}

export function formatFieldError(error: FieldError): string {
  return formatText(textOf(error))
}

/** One error stands alone, several go into brackets; equal ones are named once. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  return joinFieldErrorTexts(fieldErrorTexts(errors))
}

export function joinFieldErrorTexts(errors: readonly FieldErrorText[]): string {
  const texts = [...new Set(errors.map(formatText))]
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`
}

function formatText({ field, body }: FieldErrorText): string {
  return `${field}: ${body}`
}

/** `fieldPath('spec', 'ports', 0, 'name')` is `spec.ports[0].name`. */
export function fieldPath(...steps: readonly (string | number)[]): string {
  return steps.reduce<string>(
    (path, step) => (typeof step === 'number' ? keyedPath(path, step) : childPath(path, step)),
    '',
  )
}

export function childPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}

/** The path of a list item or of a map entry. */
export function keyedPath(parent: string, key: string | number): string {
  return `${parent}[${key}]`
}
