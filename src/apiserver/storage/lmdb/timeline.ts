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
const MAX_REPLAYED_REVISIONS = 500

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

  /** Goes through the keys of the present and those that changed since, side by side, until it has enough. */
  listAt(prefix: string, revision: number, { after, limit = Number.POSITIVE_INFINITY }: ListOptions) {
    const range = prefixRange(prefix, after)
    const entries: StoredEntry[] = []
    if (isEmptyRange(range)) return { entries, remaining: 0 }
    for (const { key, changed } of this.#keysSince(range, revision)) {
      const entry = changed ? this.entryAt(key, revision) : this.present(key)?.entry
      if (entry !== undefined) entries.push(entry)
      if (entries.length >= limit) return { entries, remaining: this.#countAt(prefixRange(prefix, key), revision) }
    }
    return { entries, remaining: 0 }
  }

  /** What is there now, but for what came or went since. */
  #countAt(range: KeyRange, revision: number): number {
    if (isEmptyRange(range)) return 0
    let count = this.#environment.countKeys('present', range)
    for (const key of this.#changedKeys(range, revision)) {
      const wasThere = this.entryAt(key, revision) !== undefined
      const isThere = this.#environment.get('present', Buffer.from(key)) !== undefined
      count += Number(wasThere) - Number(isThere)
    }
    return count
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
    let changed = changedKeys.next()
    for (const bytes of this.#environment.scanKeys('present', range)) {
      const key = bytes.toString()
      for (; changed.done !== true && compareKeys(changed.value, key) < 0; changed = changedKeys.next()) {
        yield { key: changed.value, changed: true }
      }
      const isChanged = changed.done !== true && changed.value === key
      if (isChanged) changed = changedKeys.next()
      yield { key, changed: isChanged }
    }
    for (; changed.done !== true; changed = changedKeys.next()) yield { key: changed.value, changed: true }
  }

  /** Each once, in order. */
  *#changedKeys(range: KeyRange, revision: number): Generator<string, void, undefined> {
    let last: string | undefined
    for (const bytes of this.#environment.scanKeys('undo', range)) {
      const undo = decodeUndoKey(bytes)
      if (undo.revision <= revision || undo.key === last) continue
      last = undo.key
      yield undo.key
    }
  }
}
