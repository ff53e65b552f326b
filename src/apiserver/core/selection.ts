/** Which items of a collection a request means. */
import {
  type FieldSelector,
  isEmptyFieldSelector,
  isEmptyLabelSelector,
  type LabelSelector,
  matchesFields,
  matchesLabels,
} from '../../kube/selectors/index.ts'
import type { Item } from './item.ts'
import { selectableValue } from './selectable-fields.ts'

export type Selection = (item: Item) => boolean

const everything: Selection = () => true

/** Objects are parsed only if a field selector asks for more than labels. */
export function selectionOf(kind: string, labels: LabelSelector, fields: FieldSelector): Selection {
  const anyLabel = isEmptyLabelSelector(labels)
  const anyField = isEmptyFieldSelector(fields)
  if (anyLabel && anyField) return everything
  return (item) => {
    if (!anyLabel && !matchesLabels(labels, item.labels)) return false
    if (anyField) return true
    const object = item.object()
    return matchesFields(fields, (field) => selectableValue(kind, object, field))
  }
}

export function selectsEverything(selection: Selection): boolean {
  return selection === everything
}
