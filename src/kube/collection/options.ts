/** The options of list, watch and deletecollection, read and checked as an API server does. */

import type { ResourceRequest } from '../request-info.ts'
import type { RequestQuery } from '../request-query.ts'
import {
  checkSelectableFields,
  type FieldSelector,
  fieldSelector,
  isEmptyFieldSelector,
  parseFieldSelector,
  requiresExactMatch,
} from '../selectors/field.ts'
import { type LabelSelector, parseLabelSelector } from '../selectors/label.ts'
import { type FieldError, forbiddenField, invalidField, notSupportedField } from '../status/field-error.ts'
import { badRequest } from '../status/request-errors.ts'
import { invalid } from '../status/resource-errors.ts'
import { flagParameter, integerParameter } from './query-values.ts'
import { selectableFields } from './selectable-fields.ts'

/** A request for a collection, as it was read on arrival. */
export interface CollectionReading {
  readonly info: Pick<ResourceRequest, 'name' | 'isWatchPath'>
  readonly query: RequestQuery
}

export interface CollectionOptions {
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  readonly limit: number
  readonly continueToken: string
  /** The resourceVersion as the client gave it: empty, `0` or a number. */
  readonly resourceVersion: string
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan'
  readonly sendInitialEvents: boolean | undefined
  readonly allowBookmarks: boolean
  readonly timeoutSeconds: number | undefined
}

/** The options of a list or watch, from its query. Throws an ApiError that names all that are wrong or do not go together. */
export function readCollectionOptions(
  { info, query }: CollectionReading,
  kind: string,
  isWatch: boolean,
): CollectionOptions {
  const fields = parseFieldSelector(query.first('fieldSelector') ?? '')
  const match = query.first('resourceVersionMatch') ?? ''
  const options = {
    labels: parseLabelSelector(query.first('labelSelector') ?? ''),
    fields,
    limit: integerParameter(query, 'limit') ?? 0,
    continueToken: query.first('continue') ?? '',
    resourceVersion: query.first('resourceVersion') ?? '',
    resourceVersionMatch: match as CollectionOptions['resourceVersionMatch'],
    sendInitialEvents: flagParameter(query, 'sendInitialEvents'),
    allowBookmarks: flagParameter(query, 'allowWatchBookmarks') === true,
    timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
  }
  // The old paths of watches are judged by their query, as lists: so does the real one.
  const isJudgedAsWatch = info.isWatchPath ? query.isSet('watch') : isWatch
  const errors = isJudgedAsWatch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
  checkSelectableFields(fields, selectableFields(kind))
  return { ...options, fields: narrowedTo(info.name, fields) }
}

/**
 * Only the object with this name, where the request has one: the caller was let in for that object and no other. The name
 * came by the path or by the selector itself.
 */
function narrowedTo(name: string, fields: FieldSelector): FieldSelector {
  if (name === '' || requiresExactMatch(fields, 'metadata.name') === name) return fields
  if (isEmptyFieldSelector(fields)) return fieldSelector([{ field: 'metadata.name', operator: '=', value: name }])
  throw badRequest("fieldSelector metadata.name doesn't match requested name")
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
  const { sendInitialEvents, continueToken } = options
  const match = matchOfWatch(options)
  const errors: FieldError[] = []
  const forbid = (why: string): void => void errors.push(forbiddenField('resourceVersionMatch', why))
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    forbid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  }
  if (match === '') return errors
  if (sendInitialEvents === undefined && options.resourceVersionMatch !== '') {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  }
  if (match !== 'NotOlderThan') errors.push(notSupportedField('resourceVersionMatch', match, ['NotOlderThan']))
  if (continueToken !== '') forbid('resourceVersionMatch is forbidden when continue is provided')
  return errors
}

/** A watch from nowhere begins with what there is, and counts as if it had said so. */
function matchOfWatch({ resourceVersionMatch, resourceVersion, sendInitialEvents }: CollectionOptions): string {
  const isFromNowhere = resourceVersion === '' || resourceVersion === '0'
  if (resourceVersionMatch !== '' || sendInitialEvents !== undefined || !isFromNowhere) return resourceVersionMatch
  return 'NotOlderThan'
}
