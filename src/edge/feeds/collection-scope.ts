/**
 * Which objects a feed holds: those of one resource, in one namespace or all, that two selectors let through. Requests that
 * ask for the same in different words have the same key.
 */
import { hash } from 'node:crypto'
import type { ListQuery } from '../../kube/client/options.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { buildPath } from '../../kube/request-info-path.ts'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
import {
  escapeFieldValue,
  type FieldSelector,
  fieldSelectorKey,
  formatFieldSelector,
  parseFieldSelector,
} from '../../kube/selectors/field.ts'
import {
  formatLabelSelector,
  type LabelSelector,
  labelSelectorKey,
  parseLabelSelector,
} from '../../kube/selectors/label.ts'

export interface CollectionScope {
  readonly apiGroup: string
  readonly apiVersion: string
  readonly resource: string
  /** Empty for all namespaces, and for what is in none. */
  readonly namespace: string
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** Whose objects these are, where the server may show others to somebody else; empty where all see the same. */
  readonly owner: string
  /** All that the selectors ask for, one text for each, whatever order they stand in. */
  readonly requirements: ReadonlySet<string>
  /** About what it takes in memory. */
  readonly bytes: number
  /** Equal for equal scopes. */
  readonly key: string
}

/**
 * What the selectors of a collection may be long that is kept here, together: they are read at every request, stay in memory with
 * their feed, and are held against those of all other feeds. People and programs write a tenth of it.
 */
export const MAX_KEPT_SELECTORS_LENGTH = 2_048
/** And how many requirements they may have, of which each may be looked for in each feed. */
export const MAX_KEPT_REQUIREMENTS = 64

/** What each character of selectors takes in memory when they have been read: measured, six to seven of long ones. */
const READ_CHARACTER_BYTES = 8

type ScopeParts = Omit<CollectionScope, 'key' | 'labels' | 'fields' | 'requirements' | 'bytes'> & {
  readonly labelSelector: string
  readonly fieldSelector: string
}

/** Whether there is more to read than what is kept here may have. */
export function hasLongSelectors({
  labelSelector,
  fieldSelector,
}: Pick<ScopeParts, 'labelSelector' | 'fieldSelector'>): boolean {
  return labelSelector.length + fieldSelector.length > MAX_KEPT_SELECTORS_LENGTH
}

/** Of a list or a watch. Throws an ApiError for selectors that cannot be read. */
export function scopeOf(info: ResourceRequest, owner = ''): CollectionScope {
  const named = info.isWatchPath && info.name !== '' ? `metadata.name=${escapeFieldValue(info.name)}` : ''
  // Of the resource `namespaces` itself the path says its name there.
  const namespace = info.isInNamespace ? info.namespace : ''
  return scopeFrom({ ...info, namespace, fieldSelector: named || info.fieldSelector, owner })
}

/** From what was written down of one. */
export function scopeFrom(parts: ScopeParts): CollectionScope {
  const { apiGroup, apiVersion, resource, namespace, owner } = parts
  const labels = parseLabelSelector(parts.labelSelector)
  const fields = parseFieldSelector(parts.fieldSelector)
  const texts = [apiGroup, apiVersion, resource, namespace, labelSelectorKey(labels), fieldSelectorKey(fields), owner]
  const text = JSON.stringify(texts)
  const key = hash('sha256', text, 'base64url')
  return {
    apiGroup,
    apiVersion,
    resource,
    namespace,
    labels,
    fields,
    owner,
    requirements: requirementsOf(labels, fields),
    bytes: text.length * READ_CHARACTER_BYTES,
    key,
  }
}

function requirementsOf(labels: LabelSelector, fields: FieldSelector): ReadonlySet<string> {
  const ofLabels =
    labels.matches === 'nothing'
      ? [labelSelectorKey(labels)]
      : labels.requirements.map((each) => labelSelectorKey({ matches: 'requirements', requirements: [each] }))
  const ofFields =
    fields.matches === 'nothing'
      ? [fieldSelectorKey(fields)]
      : fields.terms.map((each) => fieldSelectorKey({ matches: 'terms', terms: [each] }))
  return new Set([...ofLabels.map((text) => `label ${text}`), ...ofFields.map((text) => `field ${text}`)])
}

export function writeScope({
  apiGroup,
  apiVersion,
  resource,
  namespace,
  labels,
  fields,
  owner,
}: CollectionScope): ScopeParts {
  const selectors = { labelSelector: formatLabelSelector(labels), fieldSelector: formatFieldSelector(fields) }
  return { apiGroup, apiVersion, resource, namespace, owner, ...selectors }
}

/** What asks the API server for this collection. */
export function scopePath({ apiGroup, apiVersion, resource, namespace }: CollectionScope): string {
  return buildPath({ apiGroup, apiVersion, resource, namespace, name: '', subresource: '' })
}

export function scopeSelectors({
  labels,
  fields,
}: CollectionScope): Pick<ListQuery, 'labelSelector' | 'fieldSelector'> {
  const labelSelector = formatLabelSelector(labels)
  const fieldSelector = formatFieldSelector(fields)
  return { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) }
}

/** For people: `pods in default`, with selectors where there are any. */
export function describeScope(scope: CollectionScope): string {
  const { apiGroup, apiVersion, resource, namespace, labels, fields } = scope
  const group = apiGroup === '' ? '' : `.${joinGroupVersion(apiGroup, apiVersion)}`
  const selectors = [formatLabelSelector(labels), formatFieldSelector(fields)].filter((text) => text !== '')
  return [`${resource}${group}`, namespace && `in ${namespace}`, ...selectors].filter((text) => text !== '').join(' ')
}
