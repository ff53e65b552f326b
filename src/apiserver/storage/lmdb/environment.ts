/**
 * The LMDB environment: its tables, the one way to write to them, and what its errors mean.
 *
 * On durability. `overlappingSync` is off, against the package's default: with it on, a transaction becomes visible first
 * and reaches the disk later. With it off, LMDB writes and syncs the data pages, then writes the page that makes them valid
 * through a descriptor opened with O_DSYNC, and only then lets readers see them: when `apply` resolves, and already when a
 * read sees a change, it is on disk. All of that happens on a thread of the pool; reads go on meanwhile.
 * `eventTurnBatching` is off because we make our own batches, and because it rejects promises that nobody holds when a
 * transaction fails. `noSync`, `noMetaSync`, `mapAsync` and `useWritemap` stay off: each trades away some of the above.
 */
import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { explain } from '../../../runtime/files/atomic-file.ts'
import { StoreFullError, StoreOpenError, StoreUnavailableError } from '../store-errors.ts'
import { checkDataFile } from './data-file.ts'
import { hasRoom, isFull } from './disk-full.ts'
import { freeBytesIn } from './free-pages.ts'
import { META_KEYS } from './records.ts'
import { claim, refuseOtherProcesses } from './single-process.ts'

export type Table = 'present' | 'undo' | 'log' | 'leases' | 'meta'
const TABLES: readonly Table[] = ['present', 'undo', 'log', 'leases', 'meta']

/** A write without a value deletes. */
export interface TableWrite {
  readonly table: Table
  readonly key: Buffer
  readonly value: Buffer | undefined
}

export interface ScanOptions {
  readonly start: Buffer
  readonly end?: Buffer | undefined
  readonly limit?: number | undefined
}

/** Address space only: the file is as large as its data, and the map grows when it must. */
const INITIAL_MAP_BYTES = 64 * 1024 * 1024
/** LMDB's own names. */
const DATA_FILE = 'data.mdb'
const LOCK_FILE = 'lock.mdb'
const DIRECTORY_MODE = 0o700
const FILE_MODE = 0o600

type BinaryTable = Database<Buffer, Buffer>

/** What the rest of the store needs of LMDB. Tests put something in between to hold a write back. */
export interface Environment {
  readonly directory: string
  /** The value in memory of its own: LMDB's buffers are used again by its next read. */
  get(table: Table, key: Buffer): Buffer | undefined
  /** All scans and gets of one turn of the event loop see the same state. */
  scan(table: Table, options: ScanOptions): Iterable<{ readonly key: Buffer; readonly value: Buffer }>
  scanKeys(table: Table, options: ScanOptions): Iterable<Buffer>
  countKeys(table: Table, options: ScanOptions): number
  /** What the next writes may use without making the file larger. */
  freeBytes(): number
  /** All or nothing; on disk when it resolves. */
  apply(writes: readonly TableWrite[]): Promise<void>
  close(): Promise<void>
}

export class LmdbEnvironment implements Environment {
  readonly directory: string
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #tables: ReadonlyMap<Table, BinaryTable>
  readonly #release: () => void
  #isFull = false
  #broken: StoreUnavailableError | undefined

  private constructor(directory: string, root: RootDatabase<Buffer, Buffer>, release: () => void) {
    this.directory = directory
    this.#root = root
    this.#release = release
    this.#tables = new Map(
      TABLES.map((name) => [name, root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary' })]),
    )
  }

  /** Makes the directory if need be, for its owner only. Throws StoreOpenError. */
  static async open(directory: string): Promise<LmdbEnvironment> {
    try {
      mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE })
      const release = claim(realpathSync(directory))
      try {
        return await LmdbEnvironment.#openAlone(directory, release)
      } catch (error) {
        release()
        throw error
      }
    } catch (error) {
      if (error instanceof StoreOpenError) throw error
      throw new StoreOpenError(`cannot open the store in ${directory}: ${explain(error)}`, { cause: error })
    }
  }

  static async #openAlone(directory: string, release: () => void): Promise<LmdbEnvironment> {
    checkDataFile(join(directory, DATA_FILE))
    const environment = new LmdbEnvironment(directory, openRoot(directory), release)
    try {
      for (const file of [DATA_FILE, LOCK_FILE]) chmodSync(join(directory, file), FILE_MODE)
      environment.#refuseOtherProcesses()
      return environment
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  #refuseOtherProcesses(): void {
    this.#root.readerCheck()
    // The first read takes our own slot in the table: from here on others see us.
    this.get('meta', META_KEYS.format)
    refuseOtherProcesses(this.directory, this.#root.readerList())
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    return this.#table(table).getBinary(key)
  }

  scan(table: Table, options: ScanOptions): Iterable<{ readonly key: Buffer; readonly value: Buffer }> {
    return this.#table(table).getRange(rangeOf(options))
  }

  scanKeys(table: Table, options: ScanOptions): Iterable<Buffer> {
    return this.#table(table).getKeys(rangeOf(options))
  }

  countKeys(table: Table, options: ScanOptions): number {
    return this.#table(table).getKeysCount(rangeOf(options))
  }

  freeBytes(): number {
    return freeBytesIn(this.#root, this.#tables.values())
  }

  async apply(writes: readonly TableWrite[]): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken
    const dataFile = join(this.directory, DATA_FILE)
    // Running into it again and again would harm the process; see DiskRoom, which knows disks but no quotas and limits.
    if (this.#isFull && !hasRoom(dataFile)) throw this.#fullError()
    const code = await this.#attempt(writes)
    this.#isFull = code !== undefined && isFull(code, dataFile)
    if (code === undefined) return
    if (this.#isFull) throw this.#fullError()
    // After other failures LMDB may refuse to begin a transaction in a way that never answers: stop here and say so.
    this.#broken = new StoreUnavailableError(
      `the store in ${this.directory} cannot write any more (${describe(code)}); restart when that is mended`,
    )
    throw this.#broken
  }

  async close(): Promise<void> {
    await this.#root.close()
    this.#release()
  }

  /** The error's code, or undefined when all went well. */
  async #attempt(writes: readonly TableWrite[]): Promise<number | undefined> {
    try {
      await this.#root.batch(() => {
        for (const { table, key, value } of writes) {
          if (value === undefined) void this.#table(table).remove(key)
          else void this.#table(table).put(key, value)
        }
      })
      return undefined
    } catch (error) {
      return codeOf(await reasonOf(error))
    }
  }

  #fullError(): StoreFullError {
    return new StoreFullError(
      `the store in ${this.directory} cannot grow: the disk, a quota or a limit on the size of files is exhausted; make room there`,
    )
  }

  #table(table: Table): BinaryTable {
    return this.#tables.get(table) as BinaryTable
  }
}

function openRoot(directory: string): RootDatabase<Buffer, Buffer> {
  return open<Buffer, Buffer>({
    path: directory,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    maxDbs: TABLES.length,
    mapSize: INITIAL_MAP_BYTES,
    overlappingSync: false,
    eventTurnBatching: false,
  })
}

function rangeOf({ start, end, limit }: ScanOptions) {
  return { start, ...(end !== undefined && { end }), ...(limit !== undefined && { limit }) }
}

const UNKNOWN_CODE = 0

/** The package rejects with a general error that carries a promise which rejects with the real one. */
async function reasonOf(failure: unknown): Promise<unknown> {
  const { commitError } = failure as { commitError?: Promise<never> }
  return commitError === undefined ? failure : commitError.catch((reason: unknown) => reason)
}

function codeOf(reason: unknown): number {
  const { code } = reason as { code?: unknown }
  return typeof code === 'number' ? code : UNKNOWN_CODE
}

function describe(code: number): string {
  return code === UNKNOWN_CODE ? 'unknown error' : `error ${code}`
}
