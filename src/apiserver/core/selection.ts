/** Which items of a collection a request means. */
import { type FieldSelector, isEmptyFieldSelector } from '../../kube/selectors/field.ts'
import { isEmptyLabelSelector, type LabelSelector } from '../../kube/selectors/label.ts'
import { fieldMatcher, labelMatcher } from '../../kube/selectors/matcher.ts'
import type { Item } from '../objects/item.ts'

export type Selection = (item: Item) => boolean

const everything: Selection = () => true

/** An object is parsed at most once for each field that a selector names, however many selectors look at it. */
export function selectionOf(kind: string, labels: LabelSelector, fields: FieldSelector): Selection {
  const anyLabel = isEmptyLabelSelector(labels)
  const anyField = isEmptyFieldSelector(fields)
  if (anyLabel && anyField) return everything
  const hasLabels = labelMatcher(labels)
  const hasFields = fieldMatcher(fields)
  return (item) => {
    if (!anyLabel && !hasLabels(item.labels)) return false
    return anyField || hasFields((field) => item.field(kind, field))
  }
}

export function selectsEverything(selection: Selection): boolean {
  return selection === everything
}
