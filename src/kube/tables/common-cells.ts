/** Cells that several kinds share: labels, selectors, containers, lists that are cut short. */
import { formatLabelSelector, type LabelSelectorObject, labelSelectorFromObject } from '../selectors/label.ts'
import { type Column, column, wideColumn } from './layout.ts'
import { at, listAt, mapAt, textAt } from './paths.ts'

export const NONE = '<none>'
export const UNSET = '<unset>'
export const UNKNOWN = '<unknown>'

/** `a=b,c=d` in the order of the keys. */
export function formatLabels(labels: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${typeof value === 'string' ? value : ''}`)
  return pairs.toSorted().join(',') || NONE
}

/** The text of a LabelSelector; undefined when it is none that could be evaluated. Without an object it is empty. */
export function selectorText(selector: unknown): string | undefined {
  try {
    return formatLabelSelector(labelSelectorFromObject(selector as LabelSelectorObject | undefined))
  } catch {
    return undefined
  }
}

export function selectorCell(selector: unknown): string {
  return (selectorText(selector) ?? '<error>') || NONE
}

/** The first few entries, and how many there are beyond them. */
export function firstFew(entries: readonly string[], shown: number, separator = ','): string {
  const text = entries.slice(0, shown).join(separator)
  return entries.length > shown ? `${text} + ${entries.length - shown} more...` : text
}

/** `kind.group`, or the kind alone in the core group; the same for resources. */
export function qualified(name: string, group: string): string {
  return group === '' ? name : `${name}.${group}`
}

/** The wide columns of everything that has a pod template; `template` leads to it. */
export function containerColumns(...template: readonly string[]): Column[] {
  const each = (field: string) => (object: unknown) =>
    listAt(object, ...template, 'spec', 'containers')
      .map((container) => textAt(container, field))
      .join(',')
  return [
    wideColumn('Containers', 'Containers of the pod template.', each('name')),
    wideColumn('Images', 'Images of these containers.', each('image')),
  ]
}

export function labelSelectorColumn(...path: readonly string[]): Column {
  return wideColumn('Selector', 'Which pods belong to it.', (object) => selectorCell(at(object, ...path)))
}

/** A selector in the old form: a plain map of labels. */
export function labelMapColumn(...path: readonly string[]): Column {
  return wideColumn('Selector', 'Labels of the pods that belong to it.', (object) =>
    formatLabels(mapAt(object, ...path)),
  )
}

/** A column whose cell is the text at a path, or `absent` where there is none. */
export function textColumn(name: string, description: string, path: readonly string[], absent = ''): Column {
  return column(name, description, (object) => textAt(object, ...path) || absent)
}
