/**
 * Printing lists: `-o wide|yaml|json`, and the column layout of kubectl.
 */

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
