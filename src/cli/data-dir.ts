/**
 * The folder a role keeps its files in: made with access for its owner only, and used by one process at a time.
 */
import { accessSync, constants, mkdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkControlPath } from '../process/control-socket.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import { HEALTHY, type Health, unhealthy } from '../telemetry/health.ts'
import { CommandError } from './failure.ts'
import { type HeldLock, LockError, takeLock } from './lock-file.ts'
import { removeLeftovers } from './lock-leftovers.ts'

export const DATA_DIR_MODE = 0o700
const WRITABLE_BY_OTHERS = 0o002

export class DataDir implements Part {
  readonly name = 'data-dir'
  readonly #path: string
  readonly #lockPath: string
  readonly #hasControlSocket: boolean
  #lock: HeldLock | undefined

  /**
   * `role` names the lock file: roles may share a folder, two processes of one role may not. A role with a control socket there
   * learns at once that the path is too long for it, before anything is done that cannot be undone, such as joining.
   */
  constructor(path: string, role: string, { hasControlSocket = true } = {}) {
    this.#path = path
    this.#hasControlSocket = hasControlSocket
    this.#lockPath = join(path, `${role}.lock`)
  }

  async start(): Promise<RunningPart> {
    if (this.#hasControlSocket) checkControlPath(this.#path)
    makeDir(this.#path)
    const lock = await this.#takeLock()
    this.#lock = lock
    await removeLeftovers(this.#lockPath)
    return {
      stop: async () => lock.release(),
    }
  }

  /** Somebody who clears the folder under a running process should hear of it before the data is missed. */
  health(): Health {
    return this.#lock?.isHeld() === true ? HEALTHY : unhealthy(`${this.#lockPath} is gone or was replaced`)
  }

  async #takeLock(): Promise<HeldLock> {
    try {
      return await takeLock(this.#lockPath)
    } catch (error) {
      if (error instanceof LockError) throw refused(this.#path, error.message, error)
      throw refused(this.#path, `cannot make ${this.#lockPath}: ${(error as Error).message}`, error)
    }
  }
}

function makeDir(path: string): void {
  let stats: Stats
  try {
    makeMissing(path)
    stats = statSync(path)
    if (stats.isDirectory()) accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw refused(path, explain(error as NodeJS.ErrnoException), error)
  }
  if (!stats.isDirectory()) throw refused(path, 'it is a file, not a folder')
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0)
    throw refused(path, 'everybody may write there; choose a folder that only you can write to')
}

/**
 * Makes the folder and its parents, one level at a time: left to Node, the reason of a failure gets lost, and a path under
 * /proc is tried for ever.
 */
function makeMissing(path: string): void {
  if (isThere(path)) return
  makeMissing(dirname(path))
  try {
    mkdirSync(path, { mode: DATA_DIR_MODE })
  } catch (error) {
    // Somebody else made it just now, or it is a link that leads nowhere.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isThere(path)) throw error
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function explain({ code, message, path }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EEXIST':
      return `${path} is a link that leads nowhere`
    case 'ENOTDIR':
      return 'a part of the path is a file'
    case 'ENOENT':
      return 'no folder can be made there'
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there'
    case 'EROFS':
      return 'the file system is read-only'
    case 'ENOSPC':
      return 'the disk is full'
    default:
      return message
  }
}

function refused(path: string, reason: string, cause?: unknown): CommandError {
  return new CommandError(`cannot use the data folder ${path}: ${reason}`, { cause })
}
