/**
 * Printing lists: `-o wide|yaml|json`, and the column layout of kubectl.
 */
import { stringify } from 'yaml'

export const OUTPUT_FORMATS = ['wide', 'yaml', 'json'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

const COLUMN_GAP = '   '

/** Columns as wide as their widest cell; the last one is not padded. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const renderRow = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(COLUMN_GAP)
      .trimEnd()
  return `${[header, ...rows].map(renderRow).join('\n')}\n`
}

/** A list of flat entries; `columns` are those of the plain table, `-o wide` shows all members that any entry has. */
export function renderList<T extends Readonly<Record<string, unknown>>>(
  entries: readonly T[],
  columns: readonly (keyof T & string)[],
  format: OutputFormat | undefined,
): string {
  if (format === 'json') return `${JSON.stringify(entries, null, 2)}\n`
  if (format === 'yaml') return stringify(entries)
  const all = [...new Set([...columns, ...entries.flatMap((entry) => Object.keys(entry))])]
  const shown = format === 'wide' ? all : columns
  const rows = entries.map((entry) => shown.map((column) => String(entry[column] ?? '-')))
  const header = shown.map((column) => column.replaceAll(/[A-Z]/g, (letter) => `-${letter}`).toUpperCase())
  return renderTable(header, rows)
}
