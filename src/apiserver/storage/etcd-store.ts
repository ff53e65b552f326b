/**
 * The store of several API servers: an etcd cluster, which has revisions, transactions, watches, leases and compaction of
 * its own. All keys stand behind a prefix; revisions are etcd's, so they also grow when somebody else writes there.
 */
import type { Clock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { checkListOptions, checkRevision, checkTransaction } from './checks.ts'
import { EtcdClient, type EtcdClientOptions } from './etcd/client.ts'
import type { Input, Output } from './etcd/codec.ts'
import { EtcdRefusedError, isRefusal } from './etcd/errors.ts'
import { LeasePool } from './etcd/lease-pool.ts'
import {
  COMPACT,
  COMPARE_BY,
  EVENT_TYPE,
  type KEY_VALUE,
  LEASE_GRANT,
  RANGE,
  type REQUEST_OP,
  TXN,
  type TXN_RESPONSE,
} from './etcd/messages.ts'
import { SharedRead } from './etcd/shared-read.ts'
import { type EtcdEvent, EtcdWatch, type EtcdWatchOptions, revisionOf } from './etcd/watch.ts'
import { isEmptyRange, prefixRange } from './keys.ts'
import type {
  Change,
  ChangeBatch,
  EntryList,
  EntryRead,
  ListOptions,
  ReadOptions,
  Store,
  StoredEntry,
  Transaction,
  TransactionResult,
  Write,
} from './store.ts'
import { CompactedError, FutureRevisionError, StoreUnavailableError } from './store-errors.ts'
import { PROGRESS_INTERVAL_MS } from './watch-hub.ts'

const DEFAULT_KEY_PREFIX = '/registry/'
/** Etcd has no way to say "to the last key" but this. */
const TO_THE_END = Buffer.from([0])
const FIRST_REVISION = 1

export interface EtcdStoreOptions extends EtcdClientOptions {
  /** What stands in front of all keys; two stores with different ones do not see each other. */
  readonly keyPrefix?: string
  readonly progressIntervalMs?: number
  /** Draws from [0, 1), to spread the waits between attempts. */
  readonly random?: () => number
}

export class EtcdStore implements Store {
  readonly #client: EtcdClient
  readonly #keyPrefix: string
  readonly #watching: EtcdWatchOptions
  readonly #leases: LeasePool
  readonly #presentRevision: SharedRead<number>

  /** Connects when it is first used, and again whenever it must. Throws StoreUsageError. */
  constructor(options: EtcdStoreOptions, clock: Clock) {
    this.#client = new EtcdClient(options, clock)
    this.#keyPrefix = options.keyPrefix ?? DEFAULT_KEY_PREFIX
    const { progressIntervalMs = PROGRESS_INTERVAL_MS, random = systemRandom.fraction } = options
    this.#watching = { client: this.#client, clock, random, progressIntervalMs }
    this.#leases = new LeasePool(clock, async (ttl) => (await this.#client.call(LEASE_GRANT, { ttl })).id)
    this.#presentRevision = new SharedRead(() => this.#askRevision())
  }

  /** Every read of the present begins with this, so those that come together ask together. */
  async revision(): Promise<number> {
    return await this.#presentRevision.read()
  }

  async #askRevision(): Promise<number> {
    const { header } = await this.#client.call(RANGE, { key: this.#noKey(), countOnly: true })
    return header?.revision ?? 0
  }

  async get(key: string, options: ReadOptions = {}): Promise<EntryRead> {
    const response = await this.#range({ key: this.#key(key) }, options)
    const kv = response.kvs[0]
    return { entry: kv === undefined ? undefined : this.#entry(kv), revision: response.revision }
  }

  async list(prefix: string, options: ListOptions = {}): Promise<EntryList> {
    const after = options.after === undefined ? undefined : this.#keyPrefix + options.after
    const range = prefixRange(this.#keyPrefix + prefix, after)
    const bounds = isEmptyRange(range)
      ? { key: this.#noKey() }
      : { key: range.start, rangeEnd: range.end ?? TO_THE_END, limit: options.limit ?? 0 }
    const { kvs, count, revision } = await this.#range(bounds, options)
    return { entries: kvs.map((kv) => this.#entry(kv)), revision, remaining: count - kvs.length }
  }

  async commit(transaction: Transaction): Promise<TransactionResult> {
    checkTransaction(transaction)
    const response = await this.#send(transaction)
    const revision = response.header?.revision ?? 0
    if (response.succeeded) return { committed: true, revision }
    const found = response.responses.map(({ range }) => {
      const kv = range?.kvs[0]
      return kv === undefined ? undefined : this.#entry(kv)
    })
    return { committed: false, revision, found }
  }

  async *watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    checkRevision(afterRevision)
    if (this.#client.closed) throw new StoreUnavailableError('the store is closed')
    const { start, end } = prefixRange(this.#keyPrefix + prefix)
    const range = { key: start.length > 0 ? start : TO_THE_END, rangeEnd: end ?? TO_THE_END }
    const position = Math.max(afterRevision, FIRST_REVISION)
    const watch = new EtcdWatch(this.#watching, range, position)
    for await (const { events, revision } of watch.run((reach) => this.#checkReach(reach), signal)) {
      yield { changes: events.map((event) => this.#change(event)), revision }
    }
  }

  async compact(revision: number): Promise<void> {
    checkRevision(revision)
    try {
      await this.#client.call(COMPACT, { revision })
    } catch (error) {
      if (!isRefusal(error, 'compacted')) throw await this.#explained(error, revision)
    }
  }

  /** Etcd tells it only to those who want to watch what is gone. */
  async compactedRevision(): Promise<number> {
    if (await this.#isReadable(FIRST_REVISION)) return FIRST_REVISION
    const abort = new AbortController()
    const key = this.#noKey()
    const watch = new EtcdWatch(this.#watching, { key, rangeEnd: Buffer.alloc(0) }, 0)
    try {
      for await (const _ of watch.run(async () => undefined, abort.signal)) break
    } catch (error) {
      if (error instanceof CompactedError) return error.compactedRevision
      throw error
    } finally {
      abort.abort()
    }
    return FIRST_REVISION
  }

  async close(): Promise<void> {
    this.#client.close()
  }

  async #range(bounds: { key: Buffer; rangeEnd?: Buffer; limit?: number }, options: ListOptions) {
    checkListOptions(options)
    const { revision } = options
    try {
      // Zero means the present to etcd, and the time before the first revision to us.
      if (revision === 0) throw new CompactedError(await this.compactedRevision())
      const { kvs, count, header } = await this.#client.call(RANGE, { ...bounds, revision: revision ?? 0 })
      return { kvs, count, revision: revision ?? header?.revision ?? 0 }
    } catch (error) {
      throw await this.#explained(error, revision ?? 0)
    }
  }

  /** A lease that etcd has lost in the meantime, with its data say, is replaced once. */
  async #send(transaction: Transaction): Promise<Output<typeof TXN_RESPONSE>> {
    try {
      return await this.#client.call(TXN, await this.#request(transaction))
    } catch (error) {
      if (!isRefusal(error, 'lease-not-found')) throw error
      this.#leases.forgetAll()
      return this.#client.call(TXN, await this.#request(transaction))
    }
  }

  async #request({ conditions, writes }: Transaction) {
    return {
      compare: conditions.map(({ key, modRevision }) => ({
        result: COMPARE_BY.result.equal,
        target: COMPARE_BY.target.modRevision,
        key: this.#key(key),
        modRevision,
      })),
      success: await Promise.all(writes.map((write) => this.#operation(write))),
      failure: conditions.map(({ key }) => ({ range: { key: this.#key(key) } })),
    }
  }

  async #operation(write: Write): Promise<Input<typeof REQUEST_OP>> {
    const key = this.#key(write.key)
    if (write.type === 'delete') return { deleteRange: { key } }
    if (write.leaseSeconds === undefined) return { put: { key, value: write.value } }
    return { put: { key, value: write.value, lease: await this.#leases.lease(write.leaseSeconds) } }
  }

  /** Etcd would watch from the compacted revision itself, whose changes may already lack what was before them. */
  async #checkReach(revision: number): Promise<void> {
    if (!(await this.#isReadable(revision))) throw new CompactedError(await this.compactedRevision())
  }

  async #isReadable(revision: number): Promise<boolean> {
    try {
      await this.#client.call(RANGE, { key: this.#noKey(), countOnly: true, revision })
      return true
    } catch (error) {
      if (isRefusal(error, 'compacted')) return false
      if (isRefusal(error, 'future-revision')) return true
      throw error
    }
  }

  async #explained(error: unknown, revision: number): Promise<unknown> {
    if (!(error instanceof EtcdRefusedError)) return error
    if (error.refusal === 'compacted') return new CompactedError(await this.compactedRevision())
    if (error.refusal === 'future-revision') return new FutureRevisionError(revision, await this.revision())
    return error
  }

  #change(event: EtcdEvent): Change {
    const { kv, prevKv } = event
    const revision = revisionOf(event)
    const deleted = event.type === EVENT_TYPE.delete
    const entry = deleted || kv === undefined ? undefined : this.#entry(kv)
    // All but a creation replaces something. If etcd has lost that, the history was compacted before it got here.
    const isCreation = entry !== undefined && entry.createRevision === entry.modRevision
    if (prevKv === undefined && !isCreation) throw new CompactedError(revision)
    const previous = prevKv === undefined ? undefined : this.#entry(prevKv)
    return {
      type: deleted ? 'delete' : 'put',
      key: this.#ownKey(kv?.key ?? Buffer.alloc(0)),
      revision,
      entry,
      previous,
    }
  }

  /** The value is copied: what comes from the wire is a part of a message that may hold thousands of them. */
  #entry({ key, value, createRevision, modRevision }: Output<typeof KEY_VALUE>): StoredEntry {
    return { key: this.#ownKey(key), value: Buffer.from(value), createRevision, modRevision }
  }

  #key(key: string): Buffer {
    return Buffer.from(this.#keyPrefix + key)
  }

  #ownKey(key: Buffer): string {
    return key.toString().slice(this.#keyPrefix.length)
  }

  /** No key of ours holds a NUL: nothing is ever found or seen here. */
  #noKey(): Buffer {
    return Buffer.from(`${this.#keyPrefix}\0`)
  }
}
