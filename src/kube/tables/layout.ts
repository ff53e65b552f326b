/**
 * How one kind is laid out as a table. A column and the cell under it are one definition, so they cannot drift apart.
 * The API server always sends all columns; those with a priority are the ones kubectl shows with `-o wide`.
 */
import type { KubeObject } from '../objects.ts'
import { humanAge } from './human-duration.ts'
import { textAt, timeMsAt } from './paths.ts'

export type Cell = string | number | bigint | boolean

export type ColumnType = 'string' | 'integer' | 'boolean' | 'date'

/** In the order in which an API server prints the fields. */
export interface ColumnDefinition {
  readonly name: string
  readonly type: ColumnType
  /** `name` marks the column that identifies the object. */
  readonly format: '' | 'name'
  readonly description: string
  readonly priority: number
}

/** What a cell is made of: the object itself, or what a layout has worked out of it once for all its columns. */
export type CellSource<View> = (view: View, nowMs: number) => Cell

export interface Column<View = KubeObject> {
  readonly definition: ColumnDefinition
  readonly cell: CellSource<View>
}

/** A mark on a row, not on the object: kubectl may show finished things less prominently. */
export interface RowCondition {
  readonly type: 'Completed'
  readonly status: 'True'
  readonly reason: string
  readonly message: string
}

export interface TableLayout {
  readonly columns: readonly ColumnDefinition[]
  readonly cells: (object: KubeObject, nowMs: number) => Cell[]
  readonly conditions?: (object: KubeObject) => readonly RowCondition[]
  /** Lists of most kinds keep the order of the store. */
  readonly order?: (left: KubeObject, right: KubeObject) => number
}

type Extras = Pick<TableLayout, 'conditions' | 'order'>

export function layout(columns: readonly Column[], extras: Extras = {}): TableLayout {
  return layoutOf((object) => object, columns, extras)
}

/** A layout whose cells share one reading of the object. */
export function layoutOf<View>(
  read: (object: KubeObject) => View,
  columns: readonly Column<View>[],
  extras: Extras = {},
): TableLayout {
  return {
    columns: columns.map(({ definition }) => definition),
    cells: (object, nowMs) => {
      const view = read(object)
      return columns.map(({ cell }) => cell(view, nowMs))
    },
    ...extras,
  }
}

/** Most columns are declared as strings, whatever their cells hold: so does the API server, and clients print both. */
export function column<View = KubeObject>(
  name: string,
  description: string,
  cell: CellSource<View>,
  type: ColumnType = 'string',
): Column<View> {
  return { definition: { name, type, format: '', description, priority: 0 }, cell }
}

export function wideColumn<View = KubeObject>(name: string, description: string, cell: CellSource<View>): Column<View> {
  const plain = column(name, description, cell)
  return { ...plain, definition: { ...plain.definition, priority: 1 } }
}

export function identifying<View>(plain: Column<View>): Column<View> {
  return { ...plain, definition: { ...plain.definition, format: 'name' } }
}

export function nameOf(object: KubeObject): string {
  return textAt(object, 'metadata', 'name')
}

export function ageOf(object: KubeObject, nowMs: number): string {
  return humanAge(timeMsAt(object, 'metadata', 'creationTimestamp'), nowMs)
}

export const NAME_COLUMN: Column = identifying(column('Name', 'Unique in its namespace.', nameOf))
export const AGE_COLUMN: Column = column('Age', 'Time since the creation.', ageOf)
