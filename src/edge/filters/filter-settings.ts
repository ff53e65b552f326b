/** Which filters are on, and for whom besides those they are meant for. Can change while clients are watching. */
import type { Component, ObjectFilter } from './filter.ts'
import { OBJECT_FILTERS } from './filter-list.ts'

export interface FilterSettings {
  /** Names of filters that are off. */
  readonly disabled: readonly string[]
  /** By the name of a filter: more components it is for. */
  readonly moreComponents?: Readonly<Record<string, readonly Component[]>>
}

/** As a name: all filters. */
const allFilters = '*'

/**
 * Reads names as `--disabled-resource-filters` has them; `*` alone means all. `suggest` is given an unknown name and the
 * known ones and says, as the end of the sentence, which of them may have been meant.
 */
export function readDisabledFilters(
  names: readonly string[],
  suggest: (unknown: string, known: readonly string[]) => string,
): readonly string[] {
  const known = OBJECT_FILTERS.map(({ name }) => name)
  if (names.length === 1 && names[0] === allFilters) return known
  for (const name of names) {
    if (name === allFilters) throw new FilterNameError(`"${allFilters}" means all filters and must stand alone`)
    if (!known.includes(name)) {
      throw new FilterNameError(`unknown filter "${name}"${suggest(name, known)}`)
    }
  }
  return known.filter((name) => names.includes(name))
}

/** The names given are not names of filters. */
export class FilterNameError extends Error {
  override readonly name = 'FilterNameError'
}

export function isFor(filter: ObjectFilter, component: Component, settings: FilterSettings): boolean {
  return filter.components === 'all' || isForOne(filter, component, settings)
}

/** Whether it is for this component and not for just anybody. */
export function isForOne(filter: ObjectFilter, component: Component, settings: FilterSettings): boolean {
  if (filter.components === 'all') return false
  return filter.components.includes(component) || (settings.moreComponents?.[filter.name]?.includes(component) ?? false)
}
