/** What filters show at one time: which of them are on, and with which endpoint. Kept on disk from one run to the next. */
import * as v from 'valibot'
import type { FilterEndpoint, ObjectFilter } from './filter.ts'

/** The form of `filter-view.json`; any other counts as unreadable. */
const FILTER_VIEW_VERSION = 1

export interface FilterView {
  /** The names of those that are on. */
  readonly filters: readonly string[]
  readonly endpoint: FilterEndpoint | undefined
  /** See `LocalPodsView.revision`. */
  readonly localPods: string
}

/** The view of the run before. One that cannot be read differs from every other, which costs each client a new list. */
export type ViewBefore = FilterView | 'unreadable' | undefined

/** The view as those see it whom these filters are for: equal texts mean equal objects. */
export function viewText(view: FilterView, candidates: readonly ObjectFilter[]): string {
  const isShown = candidates.some(({ name, showsLocalPods }) => showsLocalPods && view.filters.includes(name))
  const text = lastingText(view, candidates)
  return isShown && view.localPods !== '' ? `${text} ${view.localPods}` : text
}

/** A view as text, without the local pods: a running watch tells of those by itself when they change. */
export function lastingText(view: FilterView, candidates: readonly ObjectFilter[]): string {
  const shown = candidates.filter(({ name }) => view.filters.includes(name))
  const endpoint = shown.every(({ showsLocalPods }) => showsLocalPods) ? undefined : view.endpoint
  return `${shown.map(({ name }) => name).join()} ${endpoint?.address} ${endpoint?.port}`
}

/** undefined where there was no run before. */
export function textBefore(before: ViewBefore, candidates: readonly ObjectFilter[]): string | undefined {
  return before === undefined || before === 'unreadable' ? before : viewText(before, candidates)
}

const viewSchema = v.object({
  version: v.literal(FILTER_VIEW_VERSION),
  filters: v.array(v.string()),
  endpoint: v.optional(v.object({ address: v.string(), port: v.number() })),
  localPods: v.optional(v.string(), ''),
})

export function writeView({ filters, endpoint, localPods }: FilterView): string {
  // Field by field: what an endpoint has besides is no part of the view.
  const place = endpoint && { address: endpoint.address, port: endpoint.port }
  const local = localPods === '' ? undefined : localPods
  return `${JSON.stringify({ version: FILTER_VIEW_VERSION, filters, endpoint: place, localPods: local }, undefined, 2)}\n`
}

export function readView(text: string): FilterView | 'unreadable' {
  try {
    const { success, output } = v.safeParse(viewSchema, JSON.parse(text))
    if (!success) return 'unreadable'
    return { filters: output.filters, endpoint: output.endpoint, localPods: output.localPods }
  } catch {
    return 'unreadable'
  }
}
