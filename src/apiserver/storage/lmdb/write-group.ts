/**
 * Decides the members of one group commit, one after another, each against the state its predecessors leave behind, and
 * collects what has to be written. Nothing here waits, and nothing happens until `writes` has been applied.
 */
import type { Change, Transaction, TransactionResult, Write } from '../store.ts'
import { type Effect, evaluate } from '../transaction.ts'
import type { Table, TableWrite } from './environment.ts'
import {
  ABSENT,
  encodeInteger,
  encodeLog,
  encodeRecord,
  type KeptRecord,
  leaseKey,
  META_KEYS,
  undoKey,
} from './records.ts'

const NOTHING = Buffer.from([1])

export class WriteGroup {
  readonly #lookup: (key: string) => KeptRecord | undefined
  readonly #nowMs: number
  readonly #written = new Map<string, KeptRecord | undefined>()
  readonly #writes: TableWrite[] = []
  readonly #changes: Change[] = []
  readonly #firstRevision: number
  #revision: number

  constructor(lookup: (key: string) => KeptRecord | undefined, revision: number, nowMs: number) {
    this.#lookup = lookup
    this.#firstRevision = revision
    this.#revision = revision
    this.#nowMs = nowMs
  }

  /** The revision after all members so far. */
  get revision(): number {
    return this.#revision
  }

  get changes(): readonly Change[] {
    return this.#changes
  }

  /** In the order in which they must happen. */
  get writes(): readonly TableWrite[] {
    if (this.#revision === this.#firstRevision) return this.#writes
    return [...this.#writes, { table: 'meta', key: META_KEYS.revision, value: encodeInteger(this.#revision) }]
  }

  commit(transaction: Transaction): TransactionResult {
    const verdict = evaluate(transaction, (key) => this.#current(key))
    if (!verdict.holds) return { committed: false, revision: this.#revision, found: verdict.found }
    if (verdict.effects.length > 0) this.#applyAll(verdict.effects)
    return { committed: true, revision: this.#revision }
  }

  put(table: Table, key: Buffer, value: Buffer): void {
    this.#writes.push({ table, key, value })
  }

  remove(table: Table, key: Buffer): void {
    this.#writes.push({ table, key, value: undefined })
  }

  #current(key: string): KeptRecord | undefined {
    return this.#written.has(key) ? this.#written.get(key) : this.#lookup(key)
  }

  #applyAll(effects: readonly Effect<KeptRecord>[]): void {
    const revision = ++this.#revision
    const changes = effects.map((effect) => this.#applyOne(effect, revision))
    this.put('log', encodeInteger(revision), encodeLog(changes))
    this.#changes.push(...changes)
  }

  #applyOne({ write, previous }: Effect<KeptRecord>, revision: number): Change {
    const { type, key } = write
    const next = this.#nextRecord(write, previous, revision)
    this.#written.set(key, next)
    if (next === undefined) this.remove('present', Buffer.from(key))
    else this.put('present', Buffer.from(key), next.record)
    this.put('undo', undoKey(key, revision), previous?.record ?? ABSENT)
    if (previous !== undefined && previous.expiresAtMs > 0) this.remove('leases', leaseKey(previous.expiresAtMs, key))
    if (next !== undefined && next.expiresAtMs > 0) this.put('leases', leaseKey(next.expiresAtMs, key), NOTHING)
    return { type, key, revision, entry: next?.entry, previous: previous?.entry }
  }

  #nextRecord(write: Write, previous: KeptRecord | undefined, revision: number): KeptRecord | undefined {
    if (write.type === 'delete') return undefined
    const createRevision = previous?.entry.createRevision ?? revision
    const expiresAtMs = write.leaseSeconds === undefined ? 0 : this.#nowMs + write.leaseSeconds * 1000
    return encodeRecord({ key: write.key, value: write.value, createRevision, modRevision: revision }, expiresAtMs)
  }
}
