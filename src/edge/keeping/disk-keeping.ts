/**
 * The keeping on disk. Each run writes a file of its own: what the run before left is read (without LMDB, which damage would
 * bring down and the process with it), its owner takes it over, and a fresh file is written from what the owner has, which
 * then takes the place of the old one. So no damage outlives a start, and the way back after a failure is the same: when
 * the disk works again, everything is written anew.
 */
import { Backoff, type BackoffSteps } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Random, systemRandom } from '../../runtime/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ChangeQueue } from './change-queue.ts'
import { answeredInTime } from './disk-patience.ts'
import type { KeepingMetrics } from './keeping-metrics.ts'
import type { FeedState, Keeping, KeepingStatus, KeptEntry, KeptHead, LoadedFeed, Secrecy } from './kept.ts'
import type { UnkeptReason } from './kept-image.ts'
import { KeyRing } from './key-ring.ts'
import { openTreeWriter } from './lmdb/tree-writer.ts'
import { RecordShelves } from './record-shelves.ts'
import { ReplicaFiles } from './replica-files.ts'
import { ReplicaLoad } from './replica-load.ts'
import { UnkeptFeeds } from './unkept-feeds.ts'
import { type WorkSources, writeWork } from './work-writing.ts'
import { WrittenFile } from './written-file.ts'

/** How long changes gather before they are written: a power cut may cost so much, and a card lives longer. */
export const FLUSH_DELAY_MS = 1_000
/** Changes that gathered so much are written at once. */
const FLUSH_BYTES = 1024 * 1024
/** A file that has grown larger, by what LMDB has freed in it and cannot use, is written anew. */
export const MAX_REPLICA_BYTES = 512 * 1024 * 1024
/** When keeping is tried again after a failure, at first and at last: each try may write everything. */
const RETRY_STEPS: BackoffSteps = { firstMs: 60_000, maxMs: 1_800_000, shares: [0.75, 1] }

const NOTHING = { bytes: 0, feeds: 0, entries: 0 }

export interface DiskKeepingOptions {
  readonly dataDir: string
  /** A key from outside, in a file; without it there is one in the data folder. */
  readonly keyFile?: string | undefined
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: KeepingMetrics
  readonly random?: Random
  /** All of a feed as it is now, or `undefined` if it is no more. Asked at any time after `load`. */
  presentFeed(key: string): FeedState | undefined
  /** Other than LMDB, for tests. */
  readonly openWriter?: typeof openTreeWriter
}

export class DiskKeeping implements Keeping {
  readonly #options: DiskKeepingOptions
  readonly #files: ReplicaFiles
  readonly #keys: KeyRing
  readonly #load: ReplicaLoad
  readonly #backoff: Backoff
  readonly #queue = new ChangeQueue()
  readonly #shelves = new RecordShelves()
  readonly #unkept: UnkeptFeeds
  readonly #sources: WorkSources
  /** The feeds that were loaded or told of, kept or not. */
  readonly #known = new Set<string>()
  /** While there is none, nothing is queued: whoever begins one writes all that is known. */
  #file: WrittenFile | undefined
  #onDisk = NOTHING
  #failure: string | undefined
  #lastFlushMs: number | undefined
  #isClosed = false
  /** Whether something was said that is not on disk yet. */
  #hasNews = false
  /** The round, or the erasing, that is under way. */
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: DiskKeepingOptions) {
    const { dataDir, keyFile, clock, logger, metrics, random = systemRandom } = options
    this.#options = options
    this.#files = new ReplicaFiles(dataDir)
    this.#keys = new KeyRing({ ownFile: this.#files.keyFile, outsideFile: keyFile, random })
    this.#load = new ReplicaLoad({
      files: this.#files,
      keys: this.#keys,
      shelves: this.#shelves,
      clock,
      logger,
      metrics,
    })
    this.#unkept = new UnkeptFeeds(logger, metrics)
    this.#sources = {
      logger,
      shelves: this.#shelves,
      unkept: this.#unkept,
      presentFeed: (key) => options.presentFeed(key),
    }
    this.#backoff = new Backoff(random.fraction, RETRY_STEPS)
  }

  get status(): KeepingStatus {
    return {
      isOn: this.#failure === undefined,
      problem: this.#failure ?? this.#keys.problem ?? this.#unkept.problem,
      ...this.#onDisk,
      records: this.#shelves.size,
      quarantined: this.#load.quarantined,
      lastFlushMs: this.#lastFlushMs,
    }
  }

  async *load(): AsyncGenerator<LoadedFeed> {
    try {
      for await (const feed of this.#load.read()) {
        this.#known.add(feed.key)
        yield feed
      }
    } finally {
      if (!this.#load.isEnded) this.#loaded()
    }
  }

  replaceFeed(key: string, head: KeptHead, entries: Iterable<KeptEntry>, { secret }: Secrecy): void {
    this.#known.add(key)
    if (this.#file !== undefined) this.#queue.replace(key, head, entries, secret)
    this.#said()
  }

  changeFeed(
    key: string,
    head: KeptHead,
    puts: Iterable<KeptEntry>,
    deletes: Iterable<string>,
    { secret }: Secrecy,
  ): void {
    this.#known.add(key)
    if (this.#file !== undefined) this.#queue.change(key, head, puts, deletes, secret)
    this.#said()
  }

  dropFeed(key: string): void {
    this.#known.delete(key)
    if (this.#file !== undefined) this.#queue.drop(key)
    this.#said()
  }

  putRecord(shelf: string, key: string, value: Uint8Array, { secret }: Secrecy): void {
    const refusal: UnkeptReason | undefined = this.#shelves.put(shelf, key, { value, secret })
    if (refusal !== undefined) this.#unkept.record(shelf, refusal)
    // One that is too long for a row was never in one.
    if (refusal !== 'long-name') this.#recordChanged(shelf, key)
  }

  deleteRecord(shelf: string, key: string): void {
    if (this.#shelves.delete(shelf, key)) this.#recordChanged(shelf, key)
  }

  records(shelf: string): ReadonlyMap<string, Uint8Array> {
    return this.#shelves.values(shelf)
  }

  async flushed(): Promise<void> {
    if (this.#isClosed) return
    await this.#load.ended
    await this.#running
    // A round that began since then has taken all that was said before.
    if (this.#hasNews && this.#failure === undefined) this.#start()
    await this.#running
  }

  async erase(): Promise<void> {
    this.#load.end()
    while (this.#running !== undefined) await this.#running
    const erased = this.#eraseAll()
    this.#run(erased.catch(() => undefined))
    await erased
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    if (this.#load.isEnded) await this.flushed()
    this.#isClosed = true
    this.#load.end()
    this.#cancelTimer?.()
    await this.#running
    await this.#file?.close()
    this.#file = undefined
  }

  #loaded(): void {
    const { fileBytes: bytes, feeds, entries } = this.#load
    this.#onDisk = { bytes, feeds, entries }
    this.#load.end()
    if (bytes > 0 || this.#hasNews) this.#schedule(FLUSH_DELAY_MS)
  }

  #recordChanged(shelf: string, key: string): void {
    if (this.#file !== undefined) this.#queue.record(shelf, key)
    this.#said()
  }

  #said(): void {
    this.#hasNews = true
    if (!this.#load.isEnded || this.#failure !== undefined) return
    if (this.#queue.bytes >= FLUSH_BYTES) this.#start()
    else this.#schedule(FLUSH_DELAY_MS)
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed) return
    this.#cancelTimer ??= this.#options.clock.schedule(delayMs, () => {
      this.#cancelTimer = undefined
      this.#start()
    })
  }

  #start(): void {
    if (this.#running === undefined && !this.#isClosed) this.#run(this.#round())
  }

  /** `work` never rejects. */
  #run(work: Promise<unknown>): void {
    this.#running = this.#finish(work)
  }

  async #finish(work: Promise<unknown>): Promise<void> {
    await work
    this.#running = undefined
    if (this.#hasNews && this.#failure === undefined) this.#schedule(FLUSH_DELAY_MS)
  }

  async #round(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    try {
      const file = this.#file ?? (await this.#begin())
      this.#hasNews = false
      await writeWork(file, this.#queue, this.#sources)
      const bytes = await file.settle({ keepOld: this.#load.hasDamage })
      this.#load.settled()
      this.#onDisk = { bytes, feeds: file.image.feeds, entries: file.image.entries }
      this.#lastFlushMs = this.#options.clock.nowMs()
      if (bytes > MAX_REPLICA_BYTES) await this.#beginAnewLater(bytes)
    } catch (error) {
      await this.#turnOff(error as Error)
    }
  }

  async #begin(): Promise<WrittenFile> {
    const { clock, metrics, openWriter = openTreeWriter } = this.#options
    await answeredInTime(clock, this.#keys.prepare())
    const onTransaction = (bytes: number): void => metrics.wrote(bytes)
    const file = await WrittenFile.begin({ files: this.#files, clock, openWriter, onTransaction }, this.#keys.box)
    this.#file = file
    for (const key of this.#known) this.#queue.whole(key)
    for (const { shelf, key } of this.#shelves.names()) this.#queue.record(shelf, key)
    if (this.#failure !== undefined) this.#options.logger.info('the replica is kept on disk again')
    this.#failure = undefined
    return file
  }

  async #beginAnewLater(bytes: number): Promise<void> {
    this.#options.logger.info({ bytes }, 'the replica has grown too large and is written anew')
    await this.#giveUpFile()
    this.#hasNews = true
  }

  async #turnOff(error: Error): Promise<void> {
    const { clock, logger, metrics } = this.#options
    const retryMs = this.#backoff.next(clock.monotonicMs())
    this.#failure = error.message
    metrics.failed()
    logger.error(
      { err: error, retryMs },
      'the replica is not kept on disk any more; a restart would bring back an older one',
    )
    await this.#giveUpFile()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#schedule(retryMs)
  }

  async #giveUpFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    this.#queue.clear()
    await file?.close()
  }

  async #eraseAll(): Promise<void> {
    this.#known.clear()
    this.#shelves.clear()
    this.#unkept.clear()
    this.#hasNews = false
    await this.#giveUpFile()
    await answeredInTime(this.#options.clock, this.#files.erase())
    this.#keys.forget()
    this.#onDisk = NOTHING
    this.#failure = undefined
  }
}
