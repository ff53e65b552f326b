/**
 * Audit events in a file that never grows beyond a limit: a full file is put aside as `path.1`, the one before as
 * `path.2`, and the oldest is deleted. Lines are whole: what is written together is never split over two files.
 */
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RunningPart } from '../../process/lifecycle.ts'
import { explain } from '../../runtime/files/atomic-file.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { SetupError } from '../setup-error.ts'
import { type AuditSink, MAX_AUDIT_QUEUE_BYTES } from './sink.ts'

/** What kube-apiserver's `--audit-log-maxsize` is by default. */
const MAX_AUDIT_FILE_BYTES = 100 * 1024 * 1024
/** With the one being written, a little over a gigabyte in all; who must keep more collects them. */
const MAX_OLD_AUDIT_FILES = 10

export interface FileSinkOptions {
  readonly path: string
  readonly logger: Logger
  readonly maxFileBytes?: number
  readonly maxOldFiles?: number
}

export class FileSink implements AuditSink {
  readonly name = 'audit-log'
  readonly #options: FileSinkOptions
  #file: FileHandle | undefined
  #fileBytes = 0
  #queue: Buffer[] = []
  #queuedBytes = 0
  #writing: Promise<void> | undefined
  #failed = false
  #lost: (count: number) => void = () => {}

  constructor(options: FileSinkOptions) {
    this.#options = options
  }

  onLost(listener: (count: number) => void): void {
    this.#lost = listener
  }

  /** A path that cannot be written is found out before anything is served. */
  async start(): Promise<RunningPart> {
    const { path } = this.#options
    try {
      await mkdir(dirname(path), { recursive: true })
      await this.#open()
    } catch (error) {
      throw new SetupError(`cannot write the audit log ${path}: ${explain(error)}`, { cause: error })
    }
    return { stop: () => this.#stop() }
  }

  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`)
    if (this.#queuedBytes + bytes.length > MAX_AUDIT_QUEUE_BYTES) {
      this.#lost(1)
      return
    }
    this.#queue.push(bytes)
    this.#queuedBytes += bytes.length
    this.#writing ??= this.#drain()
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch()
      try {
        await this.#write(Buffer.concat(batch))
        this.#failed = false
      } catch (error) {
        this.#lost(batch.length)
        // Once per trouble: a full disk would otherwise fill the log as well.
        if (!this.#failed) this.#options.logger.error({ err: error }, 'audit events are being lost')
        this.#failed = true
      }
    }
    this.#writing = undefined
  }

  /** As many lines as a file may hold, and at least one. */
  #takeBatch(): Buffer[] {
    let bytes = 0
    const end = this.#queue.findIndex((line, index) => {
      bytes += line.length
      return index > 0 && bytes > this.#maxFileBytes
    })
    const batch = this.#queue.splice(0, end === -1 ? this.#queue.length : end)
    for (const line of batch) this.#queuedBytes -= line.length
    return batch
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#fileBytes > 0 && this.#fileBytes + bytes.length > this.#maxFileBytes) await this.#rotate()
    const file = this.#file ?? (await this.#open())
    await file.appendFile(bytes)
    this.#fileBytes += bytes.length
  }

  get #maxFileBytes(): number {
    return this.#options.maxFileBytes ?? MAX_AUDIT_FILE_BYTES
  }

  async #rotate(): Promise<void> {
    const { path, maxOldFiles = MAX_OLD_AUDIT_FILES } = this.#options
    await this.#close()
    await rm(`${path}.${maxOldFiles}`, { force: true })
    for (let age = maxOldFiles - 1; age >= 0; age--) {
      await rename(age === 0 ? path : `${path}.${age}`, `${path}.${age + 1}`).catch(ignoreMissing)
    }
  }

  /** For the owner alone: it tells who does what. */
  async #open(): Promise<FileHandle> {
    const file = await open(this.#options.path, 'a', 0o600)
    this.#file = file
    this.#fileBytes = (await file.stat()).size
    return file
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  async #stop(): Promise<void> {
    await this.#writing
    await this.#close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
