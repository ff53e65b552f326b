/**
 * The file that is being written, from its beginning: it is fresh first, and takes the place of the one before it when
 * everything is in it. Rows are gathered into transactions. Whatever fails here, the file is given up.
 */
import { stat } from 'node:fs/promises'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import { answeredInTime } from './disk-patience.ts'
import { KeptImage, type RowStep } from './kept-image.ts'
import type { openTreeWriter, RowWriter } from './lmdb/tree-writer.ts'
import type { ReplicaFiles } from './replica-files.ts'
import type { SecretBox } from './secret-box.ts'

/** A transaction that has so much ends as soon as it may. */
const TRANSACTION_BYTES = 1024 * 1024
/** What is left free on the disk: the node has other uses for it, and LMDB does not survive every full disk. */
export const MIN_FREE_DISK_BYTES = 32 * 1024 * 1024

const BYTES_PER_MEBIBYTE = 1024 * 1024

export interface WrittenFileOptions {
  readonly files: ReplicaFiles
  readonly clock: Clock
  readonly openWriter: typeof openTreeWriter
  onTransaction(bytes: number): void
}

export class WrittenFile {
  readonly image: KeptImage
  readonly #options: WrittenFileOptions
  readonly #path: string
  readonly #writer: RowWriter
  readonly #turns: Turns
  #isAdopted = false
  #batch: RowStep[] = []
  #batchBytes = 0

  private constructor(options: WrittenFileOptions, path: string, writer: RowWriter, box: SecretBox | undefined) {
    this.#options = options
    this.#path = path
    this.#writer = writer
    this.#turns = new Turns(options.clock)
    this.image = new KeptImage(box)
    this.#gather({ ...this.image.format(), mayPause: true })
  }

  /** Throws what the disk says, if it takes no file now. */
  static async begin(options: WrittenFileOptions, box: SecretBox | undefined): Promise<WrittenFile> {
    const { files, clock, openWriter } = options
    await answeredInTime(clock, files.probe())
    const path = await answeredInTime(clock, files.createFresh())
    try {
      return new WrittenFile(options, path, await openWriter(path, clock), box)
    } catch (error) {
      await files.removeFresh(path).catch(() => undefined)
      throw error
    }
  }

  /** In turns with others; most of it reaches the disk at the next `settle`. */
  async write(steps: Iterable<RowStep>): Promise<void> {
    for (const step of steps) {
      this.#gather(step)
      if (step.mayPause && this.#batchBytes >= TRANSACTION_BYTES) await this.#commit()
      if (this.#turns.isOver) await this.#turns.next()
    }
  }

  /** When it resolves, all that was written is on disk and will be found there. Returns the size of the file. */
  async settle({ keepOld }: { readonly keepOld: boolean }): Promise<number> {
    const { files, clock } = this.#options
    await this.#commit()
    if (!this.#isAdopted) await answeredInTime(clock, files.adopt(this.#path, { keepOld }))
    this.#isAdopted = true
    return (await answeredInTime(clock, stat(files.dataFile))).size
  }

  /** Never throws: what is not settled is lost anyway. */
  async close(): Promise<void> {
    await this.#writer.close().catch(() => undefined)
    // If it was adopted, only the lock file still has this name.
    const removed = this.#options.files.removeFresh(this.#path)
    await answeredInTime(this.#options.clock, removed).catch(() => undefined)
  }

  #gather(step: RowStep): void {
    this.#batch.push(step)
    this.#batchBytes += step.key.length + (step.value?.length ?? 0)
  }

  async #commit(): Promise<void> {
    const [batch, bytes] = [this.#batch, this.#batchBytes]
    if (batch.length === 0) return
    this.#batch = []
    this.#batchBytes = 0
    await this.#checkRoom(bytes)
    await this.#writer.apply(batch)
    this.#options.onTransaction(bytes)
  }

  async #checkRoom(bytes: number): Promise<void> {
    const { files, clock } = this.#options
    const freeBytes = await answeredInTime(clock, files.freeBytes())
    const wantedBytes = MIN_FREE_DISK_BYTES + bytes
    if (freeBytes >= wantedBytes) return
    const [left, wanted] = [Math.floor(freeBytes / BYTES_PER_MEBIBYTE), Math.ceil(wantedBytes / BYTES_PER_MEBIBYTE)]
    throw new Error(`the disk under ${files.folder} has ${left} MiB left, the replica wants ${wanted}; make room there`)
  }
}
