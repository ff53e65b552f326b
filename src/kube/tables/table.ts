/**
 * The Table that an API server makes of objects for kubectl and its kin: columns, and a row of cells for each object.
 * A pure function of the objects and the time: ages are counted from `nowMs`.
 */

import { printJson } from '../codec/json.ts'
import type { KubeObject, ListMeta } from '../objects.ts'
import { presentFields } from '../present-fields.ts'
import type { IncludeObject, MetaVersion } from '../representation.ts'
import type { Cell, ColumnDefinition, RowCondition, TableLayout } from './layout.ts'
import { at, textAt } from './paths.ts'
import { layoutOfKind } from './registry.ts'

export interface TableOptions {
  /** Of the objects: in lists they do not say it themselves. */
  readonly kind: string
  readonly apiVersion: string
  /** Of the list. A single object, also one of a watch, has none: the table then carries its resourceVersion. */
  readonly listMeta?: ListMeta | undefined
  readonly includeObject: IncludeObject
  /** Of meta.k8s.io. */
  readonly version: MetaVersion
  readonly nowMs: number
  /** A watch describes its columns once, with the first event. */
  readonly withHeaders: boolean
}

/** Fields in the order in which an API server prints them; so with all that is made here. */
export interface Table {
  readonly kind: 'Table'
  readonly apiVersion: string
  readonly metadata: ListMeta
  /** null is how Go prints no headers. */
  readonly columnDefinitions: readonly ColumnDefinition[] | null
  /** A list also where it is empty; a real API server sends null for some kinds. */
  readonly rows: readonly TableRow[]
}

export interface TableRow {
  readonly cells: readonly Cell[]
  readonly conditions?: readonly RowCondition[]
  /** null when no object was asked for. */
  readonly object: KubeObject | null
}

/** Ends the initial events of a watch. Clients need its metadata, even when they asked for no objects. */
const initialEventsEndAnnotation = 'k8s.io/initial-events-end'

export function renderTable(objects: readonly KubeObject[], options: TableOptions): Table {
  const layout = layoutOfKind(options.apiVersion, options.kind)
  const ordered = layout.order === undefined ? objects : objects.toSorted(layout.order)
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: tableMeta(objects, options.listMeta),
    columnDefinitions: options.withHeaders ? layout.columns : null,
    rows: ordered.map((object) => tableRow(object, layout, options)),
  }
}

/** The order in which the objects of a kind stand in a Table; most keep the order of the store. */
export function tableOrder(apiVersion: string, kind: string): TableLayout['order'] {
  return layoutOfKind(apiVersion, kind).order
}

/** A Table up to its rows, for one that is put together from printed rows. Columns are left out as in `renderTable`. */
export function tableHead({
  apiVersion,
  kind,
  version,
  listMeta = {},
  withHeaders,
}: Omit<TableOptions, 'nowMs' | 'includeObject'>): Omit<Table, 'rows'> {
  const columnDefinitions = withHeaders ? layoutOfKind(apiVersion, kind).columns : null
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata: tableMeta([], listMeta), columnDefinitions }
}

/** A printed row without its object, and without the brace that closes it. */
export function rowHead(object: KubeObject, apiVersion: string, kind: string, nowMs: number): string {
  return printJson(rowCells(object, layoutOfKind(apiVersion, kind), nowMs)).slice(0, -1)
}

function tableMeta(objects: readonly KubeObject[], listMeta: ListMeta | undefined): ListMeta {
  if (listMeta === undefined) {
    const resourceVersion = textAt(objects[0], 'metadata', 'resourceVersion')
    return resourceVersion === '' ? {} : { resourceVersion }
  }
  const { resourceVersion, continue: token, remainingItemCount } = listMeta
  return presentFields({
    resourceVersion: resourceVersion || undefined,
    continue: token || undefined,
    remainingItemCount,
  })
}

function tableRow(object: KubeObject, layout: TableLayout, options: TableOptions): TableRow {
  return { ...rowCells(object, layout, options.nowMs), object: rowObject(object, options) }
}

function rowCells(object: KubeObject, layout: TableLayout, nowMs: number): Omit<TableRow, 'object'> {
  const conditions = layout.conditions?.(object) ?? []
  return { cells: layout.cells(object, nowMs), ...(conditions.length === 0 ? {} : { conditions }) }
}

function rowObject(object: KubeObject, options: TableOptions): KubeObject | null {
  if (options.includeObject === 'Object') {
    const { kind, apiVersion } = options
    return { kind, apiVersion, ...without(object, 'kind', 'apiVersion') }
  }
  const endsInitialEvents = at(object, 'metadata', 'annotations', initialEventsEndAnnotation) === 'true'
  if (options.includeObject === 'None' && !endsInitialEvents) return null
  const metadata = object.metadata ?? {}
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${options.version}`, metadata }
}

function without(object: KubeObject, ...fields: readonly string[]): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)))
}
