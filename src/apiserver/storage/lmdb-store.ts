/**
 * The default store: everything in one LMDB database in the data directory. Reads are synchronous look-ups in mapped
 * memory; writes go through one queue that commits in groups, each flushed to disk before anybody hears of it. How the
 * data lie is told in `lmdb/records.ts`, how they get durable in `lmdb/environment.ts`.
 *
 * No read transaction outlives the turn of the event loop in which it began: old pages are never pinned by a slow reader.
 */
import type { Clock } from '../../runtime/clock.ts'
import { checkListOptions, checkRevision, checkTransaction, writeBytes } from './checks.ts'
import { follow, type History } from './follow.ts'
import { GroupCommit } from './group-commit.ts'
import { LeaseSweeper } from './lease-sweeper.ts'
import { DiskRoom, freeBytesOf } from './lmdb/disk-room.ts'
import { type Environment, LmdbEnvironment, type Table } from './lmdb/environment.ts'
import { prepareFormat, readMeta } from './lmdb/format.ts'
import { decodeInteger, decodeLeaseKey, decodeLog, encodeInteger, META_KEYS, undoKey } from './lmdb/records.ts'
import { Timeline } from './lmdb/timeline.ts'
import { WriteGroup } from './lmdb/write-group.ts'
import type {
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
import { WatchHub } from './watch-hub.ts'

/** What one step deletes at most, in revisions: short enough not to be felt by those who wait behind it. */
const MAX_FORGOTTEN_REVISIONS = 500

/** One member of a group: what it does there, and what it weighs. */
interface Job {
  readonly bytes: number
  run(group: WriteGroup): TransactionResult | undefined
}

export class LmdbStore implements Store {
  readonly #clock: Clock
  readonly #environment: Environment
  readonly #room: DiskRoom
  readonly #timeline: Timeline
  readonly #hub: WatchHub
  readonly #queue: GroupCommit<Job, TransactionResult | undefined>
  readonly #sweeper: LeaseSweeper
  #compacted: number
  #closing: Promise<void> | undefined

  private constructor(environment: Environment, clock: Clock, room: DiskRoom) {
    this.#clock = clock
    this.#environment = environment
    this.#room = room
    this.#timeline = new Timeline(environment)
    this.#hub = new WatchHub(clock, readMeta(environment, META_KEYS.revision))
    this.#compacted = readMeta(environment, META_KEYS.compacted)
    this.#queue = new GroupCommit({ write: (jobs) => this.#writeGroup(jobs), weigh: (job: Job) => job.bytes })
    this.#sweeper = new LeaseSweeper(clock, {
      expired: (nowMs, limit) => this.#expired(nowMs, limit),
      commit: (transaction) => this.commit(transaction),
    })
  }

  /** The directory is made if need be, for its owner only. Throws StoreOpenError. */
  static async open(directory: string, clock: Clock): Promise<LmdbStore> {
    return LmdbStore.on(await LmdbEnvironment.open(directory), clock)
  }

  /** On an environment that is open; it is closed if that fails, and with the store. */
  static async on(environment: Environment, clock: Clock, room = roomOf(environment, clock)): Promise<LmdbStore> {
    try {
      await prepareFormat(environment)
      return new LmdbStore(environment, clock, room)
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  async revision(): Promise<number> {
    return this.#snapshotRevision()
  }

  async get(key: string, options: ReadOptions = {}): Promise<EntryRead> {
    const present = this.#snapshotRevision()
    const revision = this.#readableRevision(options, present)
    const entry = revision === present ? this.#timeline.present(key)?.entry : this.#timeline.entryAt(key, revision)
    return { entry, revision }
  }

  async list(prefix: string, options: ListOptions = {}): Promise<EntryList> {
    const present = this.#snapshotRevision()
    const revision = this.#readableRevision(options, present)
    const list =
      revision === present
        ? this.#timeline.listPresent(prefix, options)
        : this.#timeline.listAt(prefix, revision, options)
    return { ...list, revision }
  }

  async commit(transaction: Transaction): Promise<TransactionResult> {
    this.#checkOpen()
    checkTransaction(transaction)
    this.#room.check(transaction.writes.some(({ type }) => type === 'put'))
    const bytes = transaction.writes.reduce((sum, write) => sum + writeBytes(write), 0)
    const result = await this.#queue.submit({ bytes, run: (group) => group.commit(transaction) })
    return result as TransactionResult
  }

  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    checkRevision(afterRevision)
    return follow(this.#hub, this.#history(), prefix, afterRevision, signal)
  }

  /**
   * First the mark, durably: from then on the history is refused to readers, and what is left of it after a crash is
   * harmless. Then the history itself, a bounded piece at a time, in line with everybody else's writes.
   */
  async compact(revision: number): Promise<void> {
    checkRevision(revision)
    const present = this.#snapshotRevision()
    if (revision > present) throw new FutureRevisionError(revision, present)
    if (revision > this.#compacted) {
      await this.#maintain((group) => group.put('meta', META_KEYS.compacted, encodeInteger(revision)))
      this.#compacted = Math.max(this.#compacted, revision)
    }
    for (;;) {
      this.#checkOpen()
      const forgotten = forgottenHistory(this.#environment, this.#compacted)
      if (forgotten.length === 0) return
      await this.#maintain((group) => {
        for (const { table, key } of forgotten) group.remove(table, key)
      })
    }
  }

  async compactedRevision(): Promise<number> {
    this.#checkOpen()
    return this.#compacted
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#sweeper.stop()
    this.#hub.close()
    await this.#queue.close(closedError())
    await this.#environment.close()
  }

  /** Decides all members, flushes what they write, tells the watchers, and only then answers. */
  async #writeGroup(jobs: readonly Job[]): Promise<(TransactionResult | undefined)[]> {
    const lookup = (key: string) => this.#timeline.present(key)
    const group = new WriteGroup(lookup, this.#hub.revision, this.#clock.nowMs())
    const answers = jobs.map((job) => job.run(group))
    if (group.writes.length > 0) await this.#environment.apply(group.writes)
    if (group.changes.length > 0) this.#hub.publish(group.changes, group.revision)
    return answers
  }

  async #maintain(run: (group: WriteGroup) => void): Promise<void> {
    this.#room.check(false)
    await this.#queue.submit({
      bytes: 0,
      run: (group) => {
        run(group)
        return undefined
      },
    })
  }

  /**
   * The revision of what the reads of this turn will see. It may be ahead of the hub's for a moment: LMDB shows a group as
   * soon as it is on disk, we hear of it a turn later.
   */
  #snapshotRevision(): number {
    this.#checkOpen()
    return readMeta(this.#environment, META_KEYS.revision)
  }

  #readableRevision(options: ListOptions, present: number): number {
    checkListOptions(options)
    const { revision } = options
    if (revision === undefined) return present
    if (revision > present) throw new FutureRevisionError(revision, present)
    if (revision < this.#compacted) throw new CompactedError(this.#compacted)
    return revision
  }

  #history(): History {
    return {
      compactedRevision: () => this.#compacted,
      changesBetween: (prefix, afterRevision, toRevision) => {
        this.#checkOpen()
        return this.#timeline.changesBetween(prefix, afterRevision, toRevision)
      },
    }
  }

  #expired(nowMs: number, limit: number): Condition[] {
    const range = { start: encodeInteger(0), end: encodeInteger(nowMs + 1), limit }
    const due = [...this.#environment.scanKeys('leases', range)].map(decodeLeaseKey)
    return due.map(({ key }) => ({ key, modRevision: this.#timeline.present(key)?.entry.modRevision ?? 0 }))
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedError()
  }
}

function roomOf(environment: Environment, clock: Clock): DiskRoom {
  const { directory } = environment
  return new DiskRoom(clock, directory, {
    diskFreeBytes: () => freeBytesOf(directory),
    storeFreeBytes: () => environment.freeBytes(),
  })
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the store is closed')
}

/**
 * The next rows that a compaction may delete, oldest first: the log up to its revision, and the undo records that the log leads
 * to. None when everything up to `compactedRevision` is gone.
 */
function forgottenHistory(environment: Environment, compactedRevision: number): { table: Table; key: Buffer }[] {
  const rows: { table: Table; key: Buffer }[] = []
  const range = { start: encodeInteger(0), end: encodeInteger(compactedRevision + 1), limit: MAX_FORGOTTEN_REVISIONS }
  for (const { key, value } of environment.scan('log', range)) {
    const revision = decodeInteger(key)
    for (const change of decodeLog(value)) rows.push({ table: 'undo', key: undoKey(change.key, revision) })
    rows.push({ table: 'log', key: Buffer.from(key) })
  }
  return rows
}
