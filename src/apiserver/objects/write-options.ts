/** The options of a write, which stand in its query: checked before its body is read, all of them at once. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  tooLongField,
} from '../../kube/status/field-error.ts'
import { invalid } from '../../kube/status/resource-errors.ts'
import type { RequestContext } from '../request/handler.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** As an API server has it. */
const maxManagerBytes = 128

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions'

const kindsByMethod: Readonly<Record<string, OptionsKind>> = { PUT: 'UpdateOptions', PATCH: 'PatchOptions' }

/** How strictly the body is read. Throws a 422 that names all that is wrong with the options. */
export function readWriteOptions({ query, exchange }: Pick<RequestContext, 'query' | 'exchange'>): FieldValidation {
  const validation = query.first('fieldValidation') ?? ''
  const kind = kindsByMethod[exchange.method] ?? 'CreateOptions'
  const errors = [
    // Server-side apply is refused elsewhere; no other patch can be forced.
    ...(kind === 'PatchOptions' && query.has('force')
      ? [forbiddenField('force', 'may not be specified for non-apply patch')]
      : []),
    ...managerErrors(query.first('fieldManager') ?? ''),
    ...dryRunErrors(query.all('dryRun')),
    ...(validation === '' || isValidation(validation)
      ? []
      : [notSupportedField('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn'])]),
  ]
  refuse(kind, errors)
  return isValidation(validation) ? validation : 'Warn'
}

/** Throws a 422 for anything but `All`. */
export function readDryRun(values: readonly string[], kind: OptionsKind = 'CreateOptions'): boolean {
  refuse(kind, dryRunErrors(values))
  return values.length > 0
}

/** Throws a 422 about the options, if there is anything wrong with them. */
export function refuse(kind: OptionsKind, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors)
}

export function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === 'All') ? [] : [notSupportedField('dryRun', values, ['All'])]
}

function isValidation(text: string): text is FieldValidation {
  return text === 'Ignore' || text === 'Warn' || text === 'Strict'
}

function managerErrors(manager: string): FieldError[] {
  const isPrintable = /^[^\p{C}\p{Zl}\p{Zp}]*$/u.test(manager)
  return [
    ...(Buffer.byteLength(manager) > maxManagerBytes ? [tooLongField('fieldManager', maxManagerBytes)] : []),
    ...(isPrintable ? [] : [invalidField('fieldManager', manager, 'only printable characters are allowed')]),
  ]
}
