/** What filters show at one time: which of them are on, and with which endpoint. Kept on disk from one run to the next. */
import * as v from 'valibot'
import type { FilterEndpoint, ObjectFilter } from './filter.ts'

/** The form of `filter-view.json`; any other counts as unreadable. */
const FILTER_VIEW_VERSION = 1

export interface FilterView {
  /** The names of those that are on. */
  readonly filters: readonly string[]
  readonly endpoint: FilterEndpoint | undefined
}

/** The view of the run before. One that cannot be read differs from every other, which costs each client a new list. */
export type ViewBefore = FilterView | 'unreadable' | undefined

/** The view as those see it whom these filters are for: equal texts mean equal objects. */
export function viewText(view: FilterView, candidates: readonly ObjectFilter[]): string {
  const names = candidates.map(({ name }) => name).filter((name) => view.filters.includes(name))
  const endpoint = names.length === 0 ? undefined : view.endpoint
  return `${names.join()} ${endpoint?.address} ${endpoint?.port}`
}

/** undefined where there was no run before. */
export function textBefore(before: ViewBefore, candidates: readonly ObjectFilter[]): string | undefined {
  return before === undefined || before === 'unreadable' ? before : viewText(before, candidates)
}

const viewSchema = v.object({
  version: v.literal(FILTER_VIEW_VERSION),
  filters: v.array(v.string()),
  endpoint: v.optional(v.object({ address: v.string(), port: v.number() })),
})

export function writeView({ filters, endpoint }: FilterView): string {
  // Field by field: what an endpoint has besides is no part of the view.
  const place = endpoint && { address: endpoint.address, port: endpoint.port }
  return `${JSON.stringify({ version: FILTER_VIEW_VERSION, filters, endpoint: place }, undefined, 2)}\n`
}

export function readView(text: string): FilterView | 'unreadable' {
  try {
    const { success, output } = v.safeParse(viewSchema, JSON.parse(text))
    return success ? { filters: output.filters, endpoint: output.endpoint } : 'unreadable'
  } catch {
    return 'unreadable'
  }
}
