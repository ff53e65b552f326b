/** What the chosen filters together make of one object, and the count of it. */
import type { DocumentType, FieldEdit } from '../../kube/walker/walker.ts'
import type { FilterEndpoint, FilteredResource, LocalPodsView, ObjectFilter, ObjectView } from './filter.ts'
import { isAtRest } from './filter-choice.ts'
import type { FilterMetrics } from './filter-metrics.ts'

export class ObjectJudge {
  readonly resource: FilteredResource
  readonly #filters: readonly ObjectFilter[]
  readonly #endpoint: FilterEndpoint | undefined
  readonly #localPods: LocalPodsView
  readonly #metrics: Pick<FilterMetrics, 'changed'>

  constructor(
    resource: FilteredResource,
    filters: readonly ObjectFilter[],
    endpoint: FilterEndpoint | undefined,
    localPods: LocalPodsView,
    metrics: Pick<FilterMetrics, 'changed'>,
  ) {
    this.resource = resource
    this.#filters = filters
    this.#endpoint = endpoint
    this.#localPods = localPods
    this.#metrics = metrics
  }

  /** Every object passes, at present. */
  get isIdle(): boolean {
    return this.#filters.every((filter) => isAtRest(filter, this.#localPods))
  }

  /** Whether a document is of the kind that was asked for: not a Table, a Status or bare metadata. */
  covers({ apiVersion, kind }: DocumentType, suffix: '' | 'List' = ''): boolean {
    return apiVersion === this.resource.apiVersion && kind === this.resource.kind + suffix
  }

  /** The bytes that `edit` gives for what the filters decide, or null if one of them drops the object. */
  apply(object: ObjectView, edit: (edits: readonly FieldEdit[]) => Uint8Array): Uint8Array | null {
    const edits: FieldEdit[] = []
    const editors = new Set<string>()
    for (const filter of this.#filters) {
      const decision = filter.decide(object, this.#endpoint, this.#localPods)
      if (decision === 'drop') {
        this.#metrics.changed(filter.name, 'dropped')
        return null
      }
      if (decision !== 'keep') edits.push(...decision.map((one) => noticed(one, () => editors.add(filter.name))))
    }
    const bytes = edit(edits)
    for (const name of editors) this.#metrics.changed(name, 'edited')
    return bytes
  }
}

function noticed(edit: FieldEdit, changed: () => void): FieldEdit {
  return {
    path: edit.path,
    replace: (value) => {
      const next = edit.replace(value)
      if (next !== value) changed()
      return next
    },
  }
}
