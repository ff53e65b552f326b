/**
 * Which objects of a feed one reader asked for, where that is fewer than the feed has: those of one namespace, one name, or
 * behind further selectors. Fields are looked at as API servers do.
 */
import { selectableValue } from '../../kube/collection/selectable-fields.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isEmptyFieldSelector } from '../../kube/selectors/field.ts'
import { isEmptyLabelSelector } from '../../kube/selectors/label.ts'
import { fieldMatcher, labelMatcher } from '../../kube/selectors/matcher.ts'
import type { CollectionScope } from './collection-scope.ts'
import type { FeedChange } from './feed-history.ts'
import type { KeptObject } from './kept-object.ts'

export type Selection = (object: KeptObject) => boolean

const everything: Selection = () => true

/** What `wanted` takes of a feed that has at least that; see `covers`. */
export function selectionFrom(feed: CollectionScope, wanted: CollectionScope, kind: string): Selection {
  if (feed.key === wanted.key) return everything
  const tests: Selection[] = []
  if (feed.namespace !== wanted.namespace) tests.push(({ metadata }) => (metadata.namespace ?? '') === wanted.namespace)
  if (!isEmptyLabelSelector(wanted.labels)) {
    const matches = labelMatcher(wanted.labels)
    tests.push(({ labels }) => matches(labels))
  }
  if (!isEmptyFieldSelector(wanted.fields)) {
    const matches = fieldMatcher(wanted.fields)
    tests.push((object) => matches(fieldGetter(object, kind)))
  }
  return (object) => tests.every((test) => test(object))
}

/** Whether all that `wanted` asks for is in a feed of this scope. */
export function covers(feed: CollectionScope, wanted: CollectionScope): boolean {
  if (feed.key === wanted.key) return true
  if (!isOfSameResource(feed, wanted)) return false
  if (feed.namespace !== '' && feed.namespace !== wanted.namespace) return false
  return isNarrower(feed, wanted)
}

/** Whether the selectors of `wanted` say all that those of the feed say: then they leave nothing that those do not. */
function isNarrower(feed: CollectionScope, wanted: CollectionScope): boolean {
  if (feed.requirements.size > wanted.requirements.size) return false
  for (const requirement of feed.requirements) if (!wanted.requirements.has(requirement)) return false
  return true
}

/** Of the same resource, and shown to the same readers. */
function isOfSameResource(one: CollectionScope, other: CollectionScope): boolean {
  const isSameResource =
    one.apiGroup === other.apiGroup && one.apiVersion === other.apiVersion && one.resource === other.resource
  return isSameResource && one.owner === other.owner
}

/** The whole object is only made where a field beyond its metadata is asked for. */
function fieldGetter(object: KeptObject, kind: string): (field: string) => string {
  let value: KubeObject | undefined
  return (field) => {
    if (field === 'metadata.name') return object.metadata.name ?? ''
    if (field === 'metadata.namespace') return object.metadata.namespace ?? ''
    value ??= object.value()
    return selectableValue(kind, value, field)
  }
}

export interface SelectedEvent {
  readonly type: FeedChange['type']
  readonly object: KeptObject
}

/** How a change looks to this reader: an object that enters or leaves the selection appears and disappears. */
export function selected(
  { type, object, previous, version }: FeedChange,
  isSelected: Selection,
): SelectedEvent | undefined {
  if (isSelected === everything) return { type, object }
  const was = previous !== undefined && isSelected(previous)
  if (type !== 'DELETED' && isSelected(object)) return { type: was ? 'MODIFIED' : 'ADDED', object }
  if (!was) return undefined
  // The last state that the reader could see, under the version at which it went away.
  return { type: 'DELETED', object: type === 'DELETED' ? object : previous.at(version) }
}
