/**
 * The store without a disk: for tests and throw-away servers, and the plainest statement of what a store does. The present
 * is a map; the past is a list of changes that is undone, newest first, to get at an older state.
 */
import type { Clock } from '../../runtime/clock.ts'
import { checkListOptions, checkRevision, checkTransaction } from './checks.ts'
import { follow, type History } from './follow.ts'
import { compareKeys } from './keys.ts'
import { LeaseSweeper } from './lease-sweeper.ts'
import type {
  Change,
  ChangeBatch,
  Condition,
  EntryList,
  EntryRead,
  ListOptions,
  ReadOptions,
  Store,
  Transaction,
  TransactionResult,
} from './store.ts'
import { CompactedError, FutureRevisionError, StoreUnavailableError } from './store-errors.ts'
import { type Effect, evaluate, type KeptEntry } from './transaction.ts'
import { WatchHub } from './watch-hub.ts'

const FIRST_REVISION = 1

export class MemoryStore implements Store {
  readonly #clock: Clock
  readonly #present = new Map<string, KeptEntry>()
  /** All changes after the compacted revision, in order. */
  #changes: Change[] = []
  #compacted = FIRST_REVISION
  readonly #hub: WatchHub
  readonly #sweeper: LeaseSweeper
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#hub = new WatchHub(clock, FIRST_REVISION)
    this.#sweeper = new LeaseSweeper(clock, {
      expired: (nowMs, limit) => this.#expired(nowMs, limit),
      commit: (transaction) => this.commit(transaction),
    })
  }

  async revision(): Promise<number> {
    this.#checkOpen()
    return this.#hub.revision
  }

  async get(key: string, options: ReadOptions = {}): Promise<EntryRead> {
    const revision = this.#readableRevision(options)
    return { entry: this.#stateAt(revision).get(key)?.entry, revision }
  }

  async list(prefix: string, options: ListOptions = {}): Promise<EntryList> {
    const revision = this.#readableRevision(options)
    const { after, limit } = options
    const matching = Array.from(this.#stateAt(revision).values(), ({ entry }) => entry)
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || compareKeys(key, after) > 0))
      .sort((a, b) => compareKeys(a.key, b.key))
    const entries = matching.slice(0, limit)
    return { entries, revision, remaining: matching.length - entries.length }
  }

  async commit(transaction: Transaction): Promise<TransactionResult> {
    this.#checkOpen()
    checkTransaction(transaction)
    const verdict = evaluate(transaction, (key) => this.#present.get(key))
    if (!verdict.holds) return { committed: false, revision: this.#hub.revision, found: verdict.found }
    if (verdict.effects.length > 0) this.#apply(verdict.effects, this.#hub.revision + 1)
    return { committed: true, revision: this.#hub.revision }
  }

  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    checkRevision(afterRevision)
    return follow(this.#hub, this.#history(), prefix, afterRevision, signal)
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen()
    checkRevision(revision)
    if (revision > this.#hub.revision) throw new FutureRevisionError(revision, this.#hub.revision)
    if (revision <= this.#compacted) return
    this.#compacted = revision
    this.#changes = this.#changes.filter((change) => change.revision > revision)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#sweeper.stop()
    this.#hub.close()
  }

  async compactedRevision(): Promise<number> {
    this.#checkOpen()
    return this.#compacted
  }

  #history(): History {
    return {
      compactedRevision: () => this.#compacted,
      changesBetween: (prefix, afterRevision, toRevision) => ({
        changes: this.#changes.filter(
          ({ key, revision }) => revision > afterRevision && revision <= toRevision && key.startsWith(prefix),
        ),
        revision: toRevision,
      }),
    }
  }

  #apply(effects: readonly Effect<KeptEntry>[], revision: number): void {
    const changes = effects.map((effect) => this.#applyOne(effect, revision))
    this.#changes.push(...changes)
    this.#hub.publish(changes, revision)
  }

  #applyOne({ write, previous }: Effect<KeptEntry>, revision: number): Change {
    const { key } = write
    if (write.type === 'delete') {
      this.#present.delete(key)
      return { type: 'delete', key, revision, entry: undefined, previous: previous?.entry }
    }
    const createRevision = previous?.entry.createRevision ?? revision
    const entry = { key, value: Buffer.from(write.value), createRevision, modRevision: revision }
    const { leaseSeconds } = write
    const expiresAtMs = leaseSeconds === undefined ? 0 : this.#clock.nowMs() + leaseSeconds * 1000
    this.#present.set(key, { entry, expiresAtMs })
    return { type: 'put', key, revision, entry, previous: previous?.entry }
  }

  #readableRevision(options: ListOptions): number {
    this.#checkOpen()
    checkListOptions(options)
    const { revision } = options
    if (revision === undefined) return this.#hub.revision
    if (revision > this.#hub.revision) throw new FutureRevisionError(revision, this.#hub.revision)
    if (revision < this.#compacted) throw new CompactedError(this.#compacted)
    return revision
  }

  #stateAt(revision: number): ReadonlyMap<string, Pick<KeptEntry, 'entry'>> {
    if (revision === this.#hub.revision) return this.#present
    const state = new Map<string, Pick<KeptEntry, 'entry'>>(this.#present)
    for (const { key, previous } of this.#changes.filter((change) => change.revision > revision).toReversed()) {
      if (previous === undefined) state.delete(key)
      else state.set(key, { entry: previous })
    }
    return state
  }

  #expired(nowMs: number, limit: number): Condition[] {
    return [...this.#present.values()]
      .filter(({ expiresAtMs }) => expiresAtMs > 0 && expiresAtMs <= nowMs)
      .sort((a, b) => a.expiresAtMs - b.expiresAtMs)
      .slice(0, limit)
      .map(({ entry }) => ({ key: entry.key, modRevision: entry.modRevision }))
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreUnavailableError('the store is closed')
  }
}
