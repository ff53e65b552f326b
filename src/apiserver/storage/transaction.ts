/** What a transaction does to a state: pure, and the same for every store that decides by itself. */
import type { StoredEntry, Transaction, Write } from './store.ts'

/** An entry as a store keeps it: with the time at which it expires, zero for never. */
export interface KeptEntry {
  readonly entry: StoredEntry
  readonly expiresAtMs: number
}

/** A write that changes something, and what it replaces. */
export interface Effect<Kept extends KeptEntry> {
  readonly write: Write
  readonly previous: Kept | undefined
}

export type Verdict<Kept extends KeptEntry> =
  | { readonly holds: true; readonly effects: readonly Effect<Kept>[] }
  | { readonly holds: false; readonly found: readonly (StoredEntry | undefined)[] }

/** Judges the conditions against a state, given by its lookup, and says what the transaction would change there. */
export function evaluate<Kept extends KeptEntry>(
  { conditions, writes }: Transaction,
  lookup: (key: string) => Kept | undefined,
): Verdict<Kept> {
  const found = conditions.map((condition) => lookup(condition.key)?.entry)
  const holds = conditions.every((condition, index) => (found[index]?.modRevision ?? 0) === condition.modRevision)
  if (!holds) return { holds, found }
  const effects = writes
    .map((write) => ({ write, previous: lookup(write.key) }))
    .filter(({ write, previous }) => write.type === 'put' || previous !== undefined)
  return { holds, effects }
}
