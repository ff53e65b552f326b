/** The options of list, watch and deletecollection, read and checked as an API server does. */

import {
  checkSelectableFields,
  type FieldSelector,
  type LabelSelector,
  parseFieldSelector,
  parseLabelSelector,
} from '../../kube/selectors/index.ts'
import {
  badRequest,
  type FieldError,
  forbiddenField,
  invalid,
  invalidField,
  notSupportedField,
} from '../../kube/status/index.ts'
import { selectableFields } from './selectable-fields.ts'

export interface CollectionOptions {
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  readonly limit: number
  readonly continueToken: string
  /** As given: empty, `0` or a number. */
  readonly resourceVersion: string
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan'
  readonly sendInitialEvents: boolean | undefined
  readonly allowBookmarks: boolean
  readonly timeoutSeconds: number | undefined
}

export function readCollectionOptions(query: URLSearchParams, kind: string, isWatch: boolean): CollectionOptions {
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '')
  checkSelectableFields(fields, selectableFields(kind))
  const match = query.get('resourceVersionMatch') ?? ''
  const options = {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields,
    limit: integer(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: match as CollectionOptions['resourceVersionMatch'],
    sendInitialEvents: flag(query, 'sendInitialEvents'),
    allowBookmarks: flag(query, 'allowWatchBookmarks') === true,
    timeoutSeconds: integer(query, 'timeoutSeconds'),
  }
  const errors = isWatch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
  return options
}

/** The revision a client names; undefined for "any" and "the latest". */
export function namedRevision(resourceVersion: string): number | undefined {
  if (resourceVersion === '' || resourceVersion === '0') return undefined
  return /^[0-9]{1,15}$/.test(resourceVersion) ? Number(resourceVersion) : badRevision(resourceVersion)
}

function badRevision(resourceVersion: string): never {
  const error = invalidField(
    'resourceVersion',
    resourceVersion,
    `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`,
  )
  throw badRequest(`${error.field}: Invalid value: ${JSON.stringify(resourceVersion)}: ${error.detail}`)
}

function listErrors(options: CollectionOptions): FieldError[] {
  const { resourceVersion, resourceVersionMatch: match, continueToken, sendInitialEvents } = options
  const errors: FieldError[] = []
  if (sendInitialEvents !== undefined) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  if (match === '') return errors
  if (resourceVersion === '') {
    errors.push(
      forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    )
  }
  if (continueToken !== '') {
    errors.push(forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'))
  }
  if (!['Exact', 'NotOlderThan'].includes(match)) {
    errors.push(notSupportedField('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']))
  }
  if (match === 'Exact' && resourceVersion === '0') {
    errors.push(
      forbiddenField('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    )
  }
  return errors
}

function watchErrors(options: CollectionOptions): FieldError[] {
  const { resourceVersionMatch: match, sendInitialEvents } = options
  const errors: FieldError[] = []
  if (match !== '' && sendInitialEvents === undefined) {
    const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
    errors.push(forbiddenField('resourceVersionMatch', why))
  }
  if (sendInitialEvents !== undefined && match === '') {
    const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
    errors.push(forbiddenField('resourceVersionMatch', why))
  }
  if (sendInitialEvents !== undefined && match !== '' && match !== 'NotOlderThan') {
    errors.push(notSupportedField('resourceVersionMatch', match, ['NotOlderThan']))
  }
  return errors
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?[0-9]{1,15}$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

/** Absent is not false; an empty value is true, as is everything that is no word for false. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  return !['false', '0', 'f', 'F', 'False', 'FALSE'].includes(text)
}
