/** What the run before left: reads it once, and tells of what was damaged. A start never fails for what is found there. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { answeredInTime } from './disk-patience.ts'
import type { KeepingMetrics } from './keeping-metrics.ts'
import type { LoadedFeed } from './kept.ts'
import { KeptReader, type KeptReaderOptions, type ReadFaults } from './kept-reader.ts'
import type { KeyRing } from './key-ring.ts'
import { openReadableFile, type ReadableFile } from './lmdb/file-reader.ts'
import type { RecordShelves } from './record-shelves.ts'
import type { ReplicaFiles } from './replica-files.ts'

export interface ReplicaLoadOptions {
  readonly files: ReplicaFiles
  readonly keys: KeyRing
  /** Takes the records. */
  readonly shelves: RecordShelves
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: KeepingMetrics
}

export class ReplicaLoad {
  readonly #options: ReplicaLoadOptions
  #isBegun = false
  #isEnded = false
  #resolveEnded = (): void => {}
  /** Resolves when all was read, or nobody wants more of it. */
  readonly ended: Promise<void>
  #hasDamage = false
  #fileBytes = 0
  #feeds = 0
  #entries = 0
  #quarantined = 0

  constructor(options: ReplicaLoadOptions) {
    this.#options = options
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Whether the file should be looked at by somebody before it is gone. */
  get hasDamage(): boolean {
    return this.#hasDamage
  }

  get fileBytes(): number {
    return this.#fileBytes
  }

  get feeds(): number {
    return this.#feeds
  }

  get entries(): number {
    return this.#entries
  }

  get quarantined(): number {
    return this.#quarantined
  }

  end(): void {
    this.#isEnded = true
    this.#resolveEnded()
  }

  /** Another file has taken the place of the one that was read. */
  settled(): void {
    this.#hasDamage = false
  }

  /** Once. Ends early when `end` is called. */
  async *read(): AsyncGenerator<LoadedFeed> {
    if (this.#isBegun) throw new Error('what the run before left is read once')
    this.#isBegun = true
    await this.#attempt('the folder of the replica cannot be made ready', () => this.#options.files.prepare())
    await this.#attempt('the key of the replica cannot be read', () => this.#options.keys.read())
    const { problem } = this.#options.keys
    if (problem !== undefined)
      this.#options.logger.error({ problem }, 'there is no good key for the secrets of the replica')
    const file = await this.#open()
    if (file === undefined) return
    this.#fileBytes = file.sizeBytes
    try {
      yield* this.#readFile(file)
    } catch (error) {
      this.#hasDamage = true
      this.#options.logger.error({ err: error }, 'what the run before left cannot be read to its end')
    } finally {
      await file.close()
    }
  }

  async *#readFile(file: ReadableFile): AsyncGenerator<LoadedFeed> {
    const { keys, clock, shelves } = this.#options
    const onRecord: KeptReaderOptions['onRecord'] = (shelf, key, record) => {
      // What was told meanwhile is newer, and after an erasing nothing of this is wanted.
      if (!this.#isEnded && shelves.get(shelf, key) === undefined) shelves.put(shelf, key, record)
    }
    const reader = new KeptReader({ file, box: keys.box, clock, onRecord })
    for await (const feed of reader.feeds()) {
      if (this.#isEnded) return
      this.#feeds++
      this.#entries += feed.entries.length
      yield feed
    }
    this.#tellOf(reader.faults)
  }

  async #open(): Promise<ReadableFile | undefined> {
    const { files } = this.#options
    return await this.#attempt('what the run before left cannot be read', () => openReadableFile(files.dataFile))
  }

  async #attempt<T>(failure: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await answeredInTime(this.#options.clock, work())
    } catch (error) {
      this.#options.logger.error({ err: error }, failure)
      return undefined
    }
  }

  #tellOf({ damaged, unreadable, orphaned, lostPages, foreignFormat }: ReadFaults): void {
    const { logger, metrics, files } = this.#options
    this.#quarantined = damaged + unreadable + orphaned
    this.#hasDamage = damaged + lostPages > 0 || foreignFormat !== undefined
    metrics.quarantined('damaged', damaged)
    metrics.quarantined('key', unreadable)
    metrics.quarantined('orphaned', orphaned)
    if (foreignFormat !== undefined) {
      logger.error(
        { file: files.dataFile, format: foreignFormat },
        'the replica was written by another version, and is begun anew',
      )
    } else if (this.#hasDamage) {
      logger.error(
        { file: files.dataFile, damaged, lostPages, orphaned },
        'the replica was damaged; what is good of it is used',
      )
    }
    if (unreadable > 0)
      logger.error({ unreadable }, 'secrets of the replica were encrypted with another key, and are dropped')
  }
}
