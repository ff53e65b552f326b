/**
 * The folder a role keeps its files in: made with access for its owner only, and used by one process at a time.
 */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { HEALTHY, type Health, unhealthy } from '../telemetry/health.ts'
import type { Part, RunningPart } from '../telemetry/lifecycle.ts'
import { CommandError } from './failure.ts'
import { type HeldLock, LockHeldError, takeLock } from './lock-file.ts'

export const DATA_DIR_MODE = 0o700
const WRITABLE_BY_OTHERS = 0o002

export class DataDir implements Part {
  readonly name = 'data-dir'
  readonly #path: string
  readonly #lockPath: string
  #lock: HeldLock | undefined

  /** `role` names the lock file: roles may share a folder, two processes of one role may not. */
  constructor(path: string, role: string) {
    this.#path = path
    this.#lockPath = join(path, `${role}.lock`)
  }

  async start(): Promise<RunningPart> {
    makeDir(this.#path)
    const lock = this.#takeLock()
    this.#lock = lock
    return {
      stop: async () => lock.release(),
    }
  }

  /** Somebody who clears the folder under a running process should hear of it before the data is missed. */
  health(): Health {
    return this.#lock?.isHeld() === true ? HEALTHY : unhealthy(`${this.#lockPath} is gone or was replaced`)
  }

  #takeLock(): HeldLock {
    try {
      return takeLock(this.#lockPath)
    } catch (error) {
      if (error instanceof LockHeldError) throw refused(this.#path, error.message, error)
      throw refused(this.#path, `cannot make ${this.#lockPath}: ${(error as Error).message}`, error)
    }
  }
}

function makeDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: DATA_DIR_MODE })
  } catch (error) {
    throw refused(path, explain(error as NodeJS.ErrnoException), error)
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw refused(path, 'this user may not write there', error)
  }
  const { mode } = statSync(path)
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw refused(path, 'everybody may write there; choose a folder that only you can write to')
}

function explain({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EEXIST':
      return 'it is a file, not a folder'
    case 'ENOTDIR':
      return 'a part of the path is a file'
    case 'EACCES':
    case 'EPERM':
      return 'this user may not create it'
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
