/**
 * The files of the replica in the edge's data folder, for their owner only:
 *
 *     replica.key           the key that secrets are encrypted with, unless it comes from outside
 *     replica/data.mdb      what the last run has left, and what this one writes
 *     replica/fresh-*.mdb   a file that is being written anew; it becomes data.mdb when everything is in it
 *     replica/damaged.mdb   a data.mdb in which damage was found, for whoever wants to know what happened; the last one only
 *     replica.erased        a replica that is being removed
 *
 * One process at a time uses the folder; its lock is taken by the command line.
 */
import { randomBytes } from 'node:crypto'
import { chmod, link, lstat, mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { explain } from '../../runtime/files/atomic-file.ts'
import { FileError } from '../../runtime/files/file-error.ts'
import { diskOperations } from '../../runtime/files/file-operations.ts'

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
const FRESH_NAME = /^fresh-[0-9a-f]{16}\.mdb(?:-lock)?$/
const PROBE_BYTES = 4096

export class ReplicaFiles {
  readonly folder: string
  readonly dataFile: string
  readonly keyFile: string
  readonly #damagedFile: string
  readonly #erasedFolder: string

  constructor(dataDir: string) {
    this.folder = join(dataDir, 'replica')
    this.dataFile = join(this.folder, 'data.mdb')
    this.keyFile = join(dataDir, 'replica.key')
    this.#damagedFile = join(this.folder, 'damaged.mdb')
    this.#erasedFolder = join(dataDir, 'replica.erased')
  }

  /** Makes the folder, and clears away what an interrupted run has left. */
  async prepare(): Promise<void> {
    await this.finishErasing()
    await this.#makeFolder()
    await this.#removeLeftovers()
  }

  /** A file of no bytes, which LMDB takes for one to begin. Its name was never used before: LMDB remembers names. */
  async createFresh(): Promise<string> {
    const path = join(this.folder, `fresh-${randomBytes(8).toString('hex')}.mdb`)
    for (const each of [path, lockFileOf(path)]) {
      const file = await diskOperations.create(each, FILE_MODE)
      await file.close()
    }
    return path
  }

  /** Gives the fresh file its name, in one step, and returns when that is on disk. */
  async adopt(fresh: string, { keepOld }: { readonly keepOld: boolean }): Promise<void> {
    if (keepOld) await this.#keepDamaged()
    // What is no file cannot be replaced in one step.
    if ((await lstat(this.dataFile).catch(() => undefined))?.isFile() === false) await this.#remove(this.dataFile)
    await rename(fresh, this.dataFile)
    await diskOperations.syncFolder(this.folder)
  }

  async removeFresh(fresh: string): Promise<void> {
    for (const path of [fresh, lockFileOf(fresh)]) await rm(path, { force: true })
  }

  /** Whether the disk takes and syncs a write now; throws what it says. LMDB would not survive every such answer. */
  async probe(): Promise<void> {
    await this.#makeFolder()
    const path = await this.createFresh()
    try {
      const file = await open(path, 'w', FILE_MODE)
      try {
        await file.writeFile(Buffer.alloc(PROBE_BYTES))
        await file.sync()
      } finally {
        await file.close()
      }
    } finally {
      await this.removeFresh(path)
    }
  }

  /** Infinite where the file system does not say. */
  async freeBytes(): Promise<number> {
    try {
      const { bavail, bsize } = await statfs(this.folder)
      return bavail * bsize
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  /**
   * Removes everything; the key first, without which the secrets in what may be left of the rest cannot be read. Once the
   * folder has its other name, a later start ends what a crash has interrupted. Throws FileError.
   */
  async erase(): Promise<void> {
    try {
      await this.#remove(this.#erasedFolder)
      await rename(this.folder, this.#erasedFolder).catch(ignoreMissing)
      await diskOperations.syncFolder(dirname(this.folder))
      await this.finishErasing(true)
    } catch (error) {
      throw new FileError('unwritable-file', `cannot erase ${this.folder}: ${explain(error)}`, { cause: error })
    }
  }

  /** `isForced`: also if nothing was begun. */
  async finishErasing(isForced = false): Promise<void> {
    const isBegun = (await lstat(this.#erasedFolder).catch(() => undefined)) !== undefined
    if (!isBegun && !isForced) return
    await this.#remove(this.keyFile)
    await this.#remove(this.#erasedFolder)
    await diskOperations.syncFolder(dirname(this.folder))
  }

  async #makeFolder(): Promise<void> {
    const there = await lstat(this.folder).catch(() => undefined)
    if (there !== undefined && !there.isDirectory()) await this.#remove(this.folder)
    await mkdir(this.folder, { recursive: true, mode: FOLDER_MODE })
    await chmod(this.folder, FOLDER_MODE)
  }

  async #removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      if (FRESH_NAME.test(name)) await rm(join(this.folder, name), { recursive: true, force: true })
    }
  }

  async #keepDamaged(): Promise<void> {
    await this.#remove(this.#damagedFile)
    // Where the file system knows no links there is nothing to look at later.
    await link(this.dataFile, this.#damagedFile).catch(() => undefined)
  }

  async #remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true })
  }
}

/** LMDB's own name. */
export function lockFileOf(path: string): string {
  return `${path}-lock`
}

/** For those who have no keeping open: removes all that was ever kept in this data folder. Throws FileError. */
export async function eraseReplica(dataDir: string): Promise<void> {
  await new ReplicaFiles(dataDir).erase()
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
