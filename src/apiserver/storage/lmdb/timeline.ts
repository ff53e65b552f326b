/** Reads the state at any revision that is not compacted, and the changes between two, from the tables. */
import { compareKeys, isEmptyRange, type KeyRange, prefixRange } from '../keys.ts'
import type { Change, ChangeBatch, EntryList, ListOptions, StoredEntry } from '../store.ts'
import type { Environment } from './environment.ts'
import {
  decodeEntry,
  decodeInteger,
  decodeLog,
  decodeRecord,
  decodeUndoKey,
  encodeInteger,
  isAbsent,
  type KeptRecord,
  type LoggedChange,
  MAX_INTEGER,
  undoKey,
} from './records.ts'

/** How many revisions of history one step of a replay reads, at most, before others get their turn. */
export const MAX_REPLAYED_REVISIONS = 500

export class Timeline {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  present(key: string): KeptRecord | undefined {
    const record = this.#environment.get('present', Buffer.from(key))
    return record === undefined ? undefined : decodeRecord(key, record)
  }

  entryAt(key: string, revision: number): StoredEntry | undefined {
    const behind = { start: undoKey(key, revision + 1), end: undoKey(key, MAX_INTEGER), limit: 1 }
    for (const { value } of this.#environment.scan('undo', behind)) {
      return isAbsent(value) ? undefined : decodeEntry(key, value)
    }
    return this.present(key)?.entry
  }

  listPresent(prefix: string, { after, limit }: ListOptions): Omit<EntryList, 'revision'> {
    const range = prefixRange(prefix, after)
    if (isEmptyRange(range)) return { entries: [], remaining: 0 }
    const entries: StoredEntry[] = []
    for (const { key, value } of this.#environment.scan('present', { ...range, limit })) {
      entries.push(decodeEntry(key.toString(), value))
    }
    const last = entries.at(-1)
    if (limit === undefined || entries.length < limit || last === undefined) return { entries, remaining: 0 }
    return { entries, remaining: this.#environment.countKeys('present', prefixRange(prefix, last.key)) }
  }

  /** Goes through the keys of the present and those that changed since, side by side, and counts when it has enough. */
  listAt(prefix: string, revision: number, { after, limit = Number.POSITIVE_INFINITY }: ListOptions) {
    const range = prefixRange(prefix, after)
    const entries: StoredEntry[] = []
    let remaining = 0
    if (isEmptyRange(range)) return { entries, remaining }
    for (const { key, changed } of this.#keysSince(range, revision)) {
      if (entries.length < limit) {
        const entry = changed ? this.entryAt(key, revision) : this.present(key)?.entry
        if (entry !== undefined) entries.push(entry)
      } else if (!changed || this.entryAt(key, revision) !== undefined) remaining++
    }
    return { entries, remaining }
  }

  /** The changes of whole revisions, up to `toRevision` or as far as one step goes. */
  changesBetween(prefix: string, afterRevision: number, toRevision: number): ChangeBatch {
    const changes: Change[] = []
    let revision = afterRevision
    const range = { start: encodeInteger(afterRevision + 1), end: encodeInteger(toRevision + 1) }
    let count = 0
    for (const { key, value } of this.#environment.scan('log', { ...range, limit: MAX_REPLAYED_REVISIONS })) {
      revision = decodeInteger(key)
      count++
      for (const logged of decodeLog(value)) {
        if (logged.key.startsWith(prefix)) changes.push(this.#change(logged, revision))
      }
    }
    return { changes, revision: count < MAX_REPLAYED_REVISIONS ? toRevision : revision }
  }

  #change({ type, key }: LoggedChange, revision: number): Change {
    const entry = type === 'put' ? this.entryAt(key, revision) : undefined
    return { type, key, revision, entry, previous: this.entryAt(key, revision - 1) }
  }

  /** All keys that are there now or were there at some time after `revision`, in order; `changed`: written since. */
  *#keysSince(range: KeyRange, revision: number): Generator<{ key: string; changed: boolean }> {
    const changedKeys = this.#changedKeys(range, revision)
    let next = 0
    for (const bytes of this.#environment.scanKeys('present', range)) {
      const key = bytes.toString()
      let changed = changedKeys[next]
      for (; changed !== undefined && compareKeys(changed, key) < 0; changed = changedKeys[++next]) {
        yield { key: changed, changed: true }
      }
      if (changed === key) next++
      yield { key, changed: changed === key }
    }
    for (const key of changedKeys.slice(next)) yield { key, changed: true }
  }

  #changedKeys(range: KeyRange, revision: number): string[] {
    const keys: string[] = []
    for (const bytes of this.#environment.scanKeys('undo', range)) {
      const undo = decodeUndoKey(bytes)
      if (undo.revision > revision && undo.key !== keys.at(-1)) keys.push(undo.key)
    }
    return keys
  }
}
