/**
 * A lock file that outlives its holder's death without locking anybody out. The file names its holder; it appears complete
 * or not at all (written aside, then hard-linked into place), so no reader ever sees half a name.
 *
 * A file whose holder is gone is replaced, not removed and made again: between the two, a third process could take it, and
 * a slow fourth remove that one's. Replacing is itself done under a lock, `<file>.takeover`, by these same rules, and only
 * after reading the file once more: two processes that both saw the dead holder cannot both succeed it.
 *
 * Beside the file, and made before it, is a socket on which the holder listens: it proves that the holder lives to processes
 * that cannot see it, in other containers on the same machine.
 */
import { randomUUID } from 'node:crypto'
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as v from 'valibot'
import { NotRegularFileError, readRegularFile } from '../runtime/files/regular-file.ts'
import { openLifeSocket } from './life-socket.ts'
import { isLocalFolder } from './local-folder.ts'
import { judge, ownIdentity, type ProcessIdentity, surroundings } from './process-identity.ts'
import { describeNoFile } from './read-failure.ts'

/** A lock is one line of text; what is longer was not written by us. */
const MAX_LOCK_FILE_BYTES = 4096

/** Every attempt but the last lost to a rival that came and went in between. */
const MAX_LOCK_ATTEMPTS = 100

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
        ? `it is in use by process ${holder.pid}; stop that one first, or name another folder with --data-dir`
        : `it is in use by process ${holder.pid} on ${holder.host}, which cannot be seen from here; ` +
            `if that machine or container is gone for good, remove ${path}`,
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

/** The socket is a name in the folder of the lock: containers may see that folder at different paths. */
const IDENTITY = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
  host: v.string(),
  birth: v.string(),
  pidNamespace: v.optional(v.string()),
  socket: v.optional(v.pipe(v.string(), v.regex(/^[\w.-]+$/))),
})

/** The names of the sockets of holders. No longer than that of the control socket, so that where that has room, these have. */
export const LIFE_SOCKET_NAME = /^lock-[0-9a-f]{7}$/

/** Takes the lock or rejects with a `LockError`. The folder must exist. */
export async function takeLock(path: string): Promise<HeldLock> {
  const nonce = randomUUID()
  const life = await openLifeSocket(join(dirname(path), `lock-${nonce.slice(0, 7)}`))
  const socket = life && basename(life.path)
  const text = `${JSON.stringify({ ...ownIdentity(), socket, nonce })}\n`
  const aside = `${path}.${process.pid}.${nonce}`
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true })
    await settle(path, aside)
  } catch (error) {
    life?.close()
    throw error
  } finally {
    rmSync(aside, { force: true })
  }
  const isHeld = (): boolean => holds(path, text)
  return {
    path,
    isHeld,
    release: () => {
      if (isHeld()) rmSync(path, { force: true })
      life?.close()
    },
  }
}

/** Puts `aside` in the place of `path`, if that is free or its holder gone. */
async function settle(path: string, aside: string): Promise<void> {
  for (let attempt = 0; attempt < MAX_LOCK_ATTEMPTS; attempt++) {
    if (linkIfFree(aside, path)) return
    const found = readIfThere(path)
    // Released between the two looks: try again.
    if (found === undefined) continue
    const former = parseHolder(path, found)
    if (!(await isGone(path, found, former))) continue
    const takeover = await takeLock(`${path}.takeover`)
    try {
      if (readIfThere(path) === found) {
        renameSync(aside, path)
        if (former?.socket !== undefined) rmSync(former.socket, { force: true })
        return
      }
    } finally {
      takeover.release()
    }
  }
  throw new LockError(`${path} was taken and released ${MAX_LOCK_ATTEMPTS} times while we tried to take it; try again`)
}

/** Who wrote the file; `undefined` if it is gone, cut short or not one of ours. */
export function readHolder(path: string): ProcessIdentity | undefined {
  try {
    return parseHolder(path, readIfThere(path) ?? '')
  } catch {
    return undefined
  }
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
    if (error instanceof NotRegularFileError)
      throw new LockError(`${path} is ${describeNoFile(error)}; remove it`, { cause: error })
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

/**
 * Throws if the holder lives or may live; false if the file has changed since it was read. A file that names nobody was cut
 * short by a crash of the whole machine: its holder is gone.
 */
async function isGone(path: string, text: string, holder: ProcessIdentity | undefined): Promise<boolean> {
  if (holder === undefined) return true
  const verdict = await judge(holder, surroundings(isLocalFolder(dirname(path))))
  if (verdict === 'gone') return true
  if (readIfThere(path) !== text) return false
  throw new LockHeldError(path, holder, verdict)
}

function parseHolder(path: string, text: string): ProcessIdentity | undefined {
  try {
    const result = v.safeParse(IDENTITY, JSON.parse(text))
    if (!result.success) return undefined
    const { socket, ...holder } = result.output
    return socket === undefined ? holder : { ...holder, socket: join(dirname(path), socket) }
  } catch {
    return undefined
  }
}
