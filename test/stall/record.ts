/**
 * What was measured, kept for docs/limits.md where `CAUSEWAY_RECORD=1` asks for it: `CAUSEWAY_RECORD=1 npx vitest run
 * --project slow test/stall`, then `npm run generate:limits`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface RecordedTurn {
  readonly requestBytes: number
  readonly status: number
  readonly longestTurnMs: number
}

export type RecordedTurns = Readonly<Record<string, RecordedTurn>>

const file = fileURLToPath(new URL('./measured.json', import.meta.url))

export function readRecord(): RecordedTurns {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RecordedTurns) : {}
}

/** Of several under one name the longest stays. */
export function record(turns: RecordedTurns): void {
  if (process.env['CAUSEWAY_RECORD'] !== '1') return
  const all = { ...readRecord(), ...turns }
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1)))
  writeFileSync(file, `${JSON.stringify(sorted, null, 1)}\n`)
}

/** Keeps the longest of each name. */
export function longest(turns: readonly (readonly [name: string, turn: RecordedTurn])[]): RecordedTurns {
  const kept: Record<string, RecordedTurn> = {}
  for (const [name, turn] of turns) {
    const known = kept[name]
    if (known === undefined || known.longestTurnMs < turn.longestTurnMs) kept[name] = turn
  }
  return kept
}
