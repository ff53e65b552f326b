/** Which rows a compaction may delete: the log up to its revision, and the undo records that the log leads to. */
import type { Environment, Table } from './environment.ts'
import { decodeInteger, decodeLog, encodeInteger, undoKey } from './records.ts'

/** What one step deletes at most, in revisions: short enough not to be felt by those who wait behind it. */
const MAX_FORGOTTEN_REVISIONS = 500

/** The next rows to delete, oldest first; none when everything up to `compactedRevision` is gone. */
export function forgottenHistory(environment: Environment, compactedRevision: number): { table: Table; key: Buffer }[] {
  const rows: { table: Table; key: Buffer }[] = []
  const range = { start: encodeInteger(0), end: encodeInteger(compactedRevision + 1), limit: MAX_FORGOTTEN_REVISIONS }
  for (const { key, value } of environment.scan('log', range)) {
    const revision = decodeInteger(key)
    for (const change of decodeLog(value)) rows.push({ table: 'undo', key: undoKey(change.key, revision) })
    rows.push({ table: 'log', key: Buffer.from(key) })
  }
  return rows
}
