/**
 * An LMDB file that is written here and never read: everything in it is in memory as well. LMDB is given only files that this
 * process has begun, so that it never meets the damage that an earlier run or the disk has left.
 *
 * On durability. `overlappingSync` is off, against the package's default: then LMDB writes and syncs the pages of a
 * transaction, and only then the page that makes them valid. `eventTurnBatching` is off because we make our own batches, and
 * because it rejects promises that nobody holds when a transaction fails. After a failed or late transaction the file is of
 * no use any more: LMDB may answer the next one never, or by ending the process.
 */
import { chmod } from 'node:fs/promises'
import { open, type RootDatabase } from 'lmdb'
import type { Clock } from '../../../runtime/clock.ts'
import { answeredInTime, DiskHangsError } from '../disk-patience.ts'
import { lockFileOf } from '../replica-files.ts'

/** Address space only: the file is as large as its data, and the map grows when it must. */
const INITIAL_MAP_BYTES = 64 * 1024 * 1024
const FILE_MODE = 0o600

/** A write without a value deletes. */
export interface RowWrite {
  readonly key: Buffer
  readonly value: Buffer | undefined
}

/** Tests put something in between that fails or waits. */
export interface RowWriter {
  /** All or nothing; on disk when it resolves. Rejects when that failed or took too long: then nothing more can be written. */
  apply(writes: readonly RowWrite[]): Promise<void>
  close(): Promise<void>
}

/** `path` is a file of no bytes. */
export async function openTreeWriter(path: string, clock: Clock): Promise<RowWriter> {
  const root = open<Buffer, Buffer>({
    path,
    noSubdir: true,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: INITIAL_MAP_BYTES,
    overlappingSync: false,
    eventTurnBatching: false,
  })
  for (const each of [path, lockFileOf(path)]) await chmod(each, FILE_MODE)
  return new TreeWriter(root, clock)
}

class TreeWriter implements RowWriter {
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #clock: Clock
  #isHanging = false

  constructor(root: RootDatabase<Buffer, Buffer>, clock: Clock) {
    this.#root = root
    this.#clock = clock
  }

  async apply(writes: readonly RowWrite[]): Promise<void> {
    try {
      await answeredInTime(this.#clock, this.#transaction(writes))
    } catch (error) {
      this.#isHanging = error instanceof DiskHangsError
      throw error
    }
  }

  /** One that hangs cannot be closed: the process would wait with it. */
  async close(): Promise<void> {
    if (!this.#isHanging) await answeredInTime(this.#clock, this.#root.close())
  }

  async #transaction(writes: readonly RowWrite[]): Promise<void> {
    try {
      await this.#root.batch(() => {
        for (const { key, value } of writes) {
          if (value === undefined) void this.#root.remove(key)
          else void this.#root.put(key, value)
        }
      })
    } catch (error) {
      throw new Error(`LMDB cannot write: ${(await reasonOf(error)).message}`, { cause: error })
    }
  }
}

/** The package rejects with a general error that carries a promise which rejects with the real one. */
async function reasonOf(failure: unknown): Promise<Error> {
  const { commitError } = failure as { commitError?: Promise<never> }
  if (commitError === undefined) return failure as Error
  return await commitError.catch((reason: unknown) => reason as Error)
}
