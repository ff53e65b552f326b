/**
 * Tables that a real kube-apiserver made of our objects, with the objects and the time at which it did. The suite in
 * `test/real` writes the file anew when CAUSEWAY_REWRITE is set; commit a rewrite only if you understand every difference.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseJson, printJson } from '../../../src/kube/codec/json.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { renderTable, type Table } from '../../../src/kube/tables/table.ts'

/** What is compared of a table: everything but the descriptions and messages, which are prose. */
export interface TableFacts {
  /** Name, type, format and priority. */
  readonly columns: readonly (readonly [string, string, string, number])[]
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly conditions?: readonly string[] }[]
}

export interface TableSample {
  readonly apiVersion: string
  readonly kind: string
  readonly nowMs: number
  readonly objects: readonly KubeObject[]
  readonly table: TableFacts
}

export const tableSamplesFile = fileURLToPath(new URL('../../data/tables-samples.jsonl', import.meta.url))

export function tableFacts({ columnDefinitions, rows }: Table): TableFacts {
  return {
    columns: (columnDefinitions ?? []).map(({ name, type, format, priority }) => [name, type, format, priority]),
    rows: rows.map(({ cells, conditions }) => ({
      cells,
      ...(conditions === undefined ? {} : { conditions: conditions.map(({ type, reason }) => `${type}: ${reason}`) }),
    })),
  }
}

/** Our table of the same objects at the same time. */
export function ourFacts({ apiVersion, kind, nowMs, objects }: Omit<TableSample, 'table'>): TableFacts {
  const options = {
    apiVersion,
    kind,
    nowMs,
    listMeta: {},
    version: 'v1',
    includeObject: 'None',
    withHeaders: true,
  } as const
  return tableFacts(renderTable(objects, options))
}

/** One line a table. */
export function formatTableSamples(samples: readonly TableSample[]): string {
  return samples.map((sample) => `${printJson(sample)}\n`).join('')
}

export function readTableSamples(): TableSample[] {
  const lines = readFileSync(tableSamplesFile, 'utf8').trimEnd().split('\n')
  return lines.map((line) => parseJson(line) as TableSample)
}
