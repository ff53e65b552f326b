/**
 * A lock file that outlives its holder's death without locking anybody out. The file names its holder; it appears complete
 * or not at all (written aside, then hard-linked into place), so no reader ever sees half a name.
 *
 * A file whose holder is gone is replaced, not removed and made again: between the two, a third process could take it, and
 * a slow fourth remove that one's. Replacing is itself done under a lock, `<file>.takeover`, by these same rules, and only
 * after reading the file once more: two processes that both saw the dead holder cannot both succeed it.
 */
import { randomUUID } from 'node:crypto'
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import * as v from 'valibot'
import { judge, ownIdentity, type ProcessIdentity } from './process-identity.ts'
import { NotRegularFileError, readRegularFile } from './regular-file.ts'

/** A lock is one line of text; what is longer was not written by us. */
export const MAX_LOCK_FILE_BYTES = 4096

/** Every attempt but the last lost to a rival that came and went in between. */
export const MAX_LOCK_ATTEMPTS = 100

/** The lock cannot be had; the message says why and what to do. */
export class LockError extends Error {
  override readonly name: string = 'LockError'
}

export class LockHeldError extends LockError {
  override readonly name = 'LockHeldError'
  readonly holder: ProcessIdentity

  constructor(path: string, holder: ProcessIdentity, verdict: 'running' | 'elsewhere') {
    super(
      verdict === 'running'
        ? `it is in use by process ${holder.pid}`
        : `it is in use by process ${holder.pid} on ${holder.host}; if that machine is gone for good, remove ${path}`,
    )
    this.holder = holder
  }
}

export interface HeldLock {
  readonly path: string
  /** False when somebody removed or replaced the file behind our back. */
  isHeld(): boolean
  release(): void
}

const IDENTITY = v.object({ pid: v.pipe(v.number(), v.integer(), v.minValue(1)), host: v.string(), birth: v.string() })

/** Takes the lock or throws a `LockError`. The folder must exist. */
export function takeLock(path: string): HeldLock {
  const text = `${JSON.stringify({ ...ownIdentity(), nonce: randomUUID() })}\n`
  const aside = `${path}.${process.pid}.${randomUUID()}`
  writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true })
  try {
    settle(path, aside)
  } finally {
    rmSync(aside, { force: true })
  }
  const isHeld = (): boolean => holds(path, text)
  return {
    path,
    isHeld,
    release: () => {
      if (isHeld()) rmSync(path, { force: true })
    },
  }
}

/** Puts `aside` in the place of `path`, if that is free or its holder gone. */
function settle(path: string, aside: string): void {
  for (let attempt = 0; attempt < MAX_LOCK_ATTEMPTS; attempt++) {
    if (linkIfFree(aside, path)) return
    const found = readIfThere(path)
    // Released between the two looks: try again.
    if (found === undefined) continue
    refuseIfHeld(path, found)
    const takeover = takeLock(`${path}.takeover`)
    try {
      if (readIfThere(path) === found) {
        renameSync(aside, path)
        return
      }
    } finally {
      takeover.release()
    }
  }
  throw new LockError(`${path} was taken and released ${MAX_LOCK_ATTEMPTS} times while we tried to take it; try again`)
}

function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: MAX_LOCK_FILE_BYTES, refuseLinks: true }).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    if (error instanceof NotRegularFileError) throw new LockError(`${error.message}; remove it`, { cause: error })
    throw error
  }
}

function holds(path: string, text: string): boolean {
  try {
    return readIfThere(path) === text
  } catch (error) {
    if (error instanceof LockError) return false
    throw error
  }
}

/** A file that names nobody was cut short by a crash of the whole machine: its holder is gone. */
function refuseIfHeld(path: string, text: string): void {
  const holder = parseHolder(text)
  if (holder === undefined) return
  const verdict = judge(holder)
  if (verdict !== 'gone') throw new LockHeldError(path, holder, verdict)
}

function parseHolder(text: string): ProcessIdentity | undefined {
  try {
    const result = v.safeParse(IDENTITY, JSON.parse(text))
    return result.success ? result.output : undefined
  } catch {
    return undefined
  }
}
