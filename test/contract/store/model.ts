/** The naive store: the whole state at every revision, and every change, in plain maps. What the real ones must equal. */
import type {
  Change,
  EntryList,
  StoredEntry,
  Transaction,
  TransactionResult,
} from '../../../src/apiserver/storage/store.ts'

export class StoreModel {
  readonly #states = new Map<number, ReadonlyMap<string, StoredEntry>>()
  readonly changes: Change[] = []
  revision: number
  compacted: number

  constructor(revision: number, compacted: number) {
    this.revision = revision
    this.compacted = compacted
    this.#states.set(revision, new Map())
  }

  stateAt(revision: number): ReadonlyMap<string, StoredEntry> {
    for (let past = revision; past > 0; past--) {
      const state = this.#states.get(past)
      if (state !== undefined) return state
    }
    return new Map()
  }

  list(prefix: string, revision: number, after: string | undefined, limit: number | undefined): EntryList {
    const matching = [...this.stateAt(revision).values()]
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || byBytes(key, after) > 0))
      .sort((a, b) => byBytes(a.key, b.key))
    const entries = matching.slice(0, limit)
    return { entries, revision, remaining: matching.length - entries.length }
  }

  changesAfter(prefix: string, revision: number): Change[] {
    return this.changes.filter((change) => change.revision > revision && change.key.startsWith(prefix))
  }

  /** The keys that a transaction may name without thinking of revisions are given as they are now. */
  commit({ conditions, writes }: Transaction): TransactionResult {
    const before = this.stateAt(this.revision)
    const found = conditions.map(({ key }) => before.get(key))
    if (conditions.some(({ modRevision }, index) => (found[index]?.modRevision ?? 0) !== modRevision)) {
      return { committed: false, revision: this.revision, found }
    }
    const after = new Map(before)
    const revision = this.revision + 1
    for (const write of writes) {
      const { key } = write
      const previous = before.get(key)
      if (write.type === 'put') {
        const createRevision = previous?.createRevision ?? revision
        const entry = { key, value: write.value, createRevision, modRevision: revision }
        after.set(key, entry)
        this.changes.push({ type: 'put', key, revision, entry, previous })
      } else if (previous !== undefined) {
        after.delete(key)
        this.changes.push({ type: 'delete', key, revision, entry: undefined, previous })
      }
    }
    if (this.changes.at(-1)?.revision === revision) {
      this.revision = revision
      this.#states.set(revision, after)
    }
    return { committed: true, revision: this.revision }
  }
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
