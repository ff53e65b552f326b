import { expect, test } from 'vitest'
import * as fields from './field-error.ts'

test.each<[fields.FieldError, string]>([
  [fields.requiredField('spec.x'), 'spec.x: Required value'],
  [fields.requiredField('spec.x', 'or else'), 'spec.x: Required value: or else'],
  [fields.invalidField('a', 'b', 'no'), 'a: Invalid value: "b": no'],
  [fields.invalidField('a', 7, ''), 'a: Invalid value: 7'],
  [fields.invalidField('a', true, ''), 'a: Invalid value: true'],
  [fields.invalidField('a', { x: [1] }, 'no'), 'a: Invalid value: {"x":[1]}: no'],
  [fields.invalidField('a', fields.OMITTED_VALUE, 'no'), 'a: Invalid value: no'],
  [fields.typeInvalidField('a', 'b', 'no'), 'a: Invalid value: "b": no'],
  [fields.notFoundField('a', 'b'), 'a: Not found: "b"'],
  [fields.duplicateField('a[1]', 'b'), 'a[1]: Duplicate value: "b"'],
  [fields.notSupportedField('a', 'b', ['c', 'd']), 'a: Unsupported value: "b": supported values: "c", "d"'],
  [fields.notSupportedField('a', 'b', []), 'a: Unsupported value: "b"'],
  [fields.forbiddenField('a', 'no'), 'a: Forbidden: no'],
  [fields.tooLongField('a', 63), 'a: Too long: may not be more than 63 bytes'],
  [fields.tooLongField('a', 1), 'a: Too long: may not be more than 1 byte'],
  [fields.tooShortField('a', '', 1), 'a: Too short: must be at least 1 character'],
  [fields.tooManyField('a', 3, 2), 'a: Too many: 3: must have at most 2 items'],
  [fields.tooManyField('a', fields.OMITTED_VALUE, 1), 'a: Too many: must have at most 1 item'],
  [fields.tooFewField('a', 0, 1), 'a: Too few: 0: must have at least 1 item'],
  [fields.internalFieldError('a', 'broken'), 'a: Internal error: broken'],
])('%j', (error, text) => {
  expect(fields.formatFieldError(error)).toBe(text)
})

test('several errors stand in brackets, equal ones once', () => {
  const errors = [fields.requiredField('a'), fields.requiredField('b'), fields.requiredField('a')]
  expect(fields.formatFieldErrors(errors)).toBe('[a: Required value, b: Required value]')
  expect(fields.formatFieldErrors([fields.requiredField('a'), fields.requiredField('a')])).toBe('a: Required value')
})

test('paths', () => {
  expect(fields.fieldPath('spec', 'ports', 0, 'name')).toBe('spec.ports[0].name')
  expect(fields.keyedPath(fields.childPath('metadata', 'labels'), 'app')).toBe('metadata.labels[app]')
})
