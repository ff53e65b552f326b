/** Which items of a collection a request means. */
import { type FieldSelector, isEmptyFieldSelector, matchesFields } from '../../kube/selectors/field.ts'
import { isEmptyLabelSelector, type LabelSelector, matchesLabels } from '../../kube/selectors/label.ts'
import type { Item } from './item.ts'

export type Selection = (item: Item) => boolean

const everything: Selection = () => true

/** An object is parsed at most once for each field that a selector names, however many selectors look at it. */
export function selectionOf(kind: string, labels: LabelSelector, fields: FieldSelector): Selection {
  const anyLabel = isEmptyLabelSelector(labels)
  const anyField = isEmptyFieldSelector(fields)
  if (anyLabel && anyField) return everything
  return (item) => {
    if (!anyLabel && !matchesLabels(labels, item.labels)) return false
    return anyField || matchesFields(fields, (field) => item.field(kind, field))
  }
}

export function selectsEverything(selection: Selection): boolean {
  return selection === everything
}
