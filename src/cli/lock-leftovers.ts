/**
 * Removes what processes that were killed while they took or released a lock have left beside it: sockets on which nobody listens
 * and that no lock names, and names that were written aside. Only the holder of the lock may do this, and nothing that might belong
 * to somebody alive goes: another role may use the folder, and others may be trying for the lock at this moment.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { askSocket } from './life-socket.ts'
import { isLocalFolder } from './local-folder.ts'
import { LIFE_SOCKET_NAME, readHolder } from './lock-file.ts'
import { judge, surroundings } from './process-identity.ts'

const lockName = /\.lock(\.takeover)*$/
const asideEnding = /^(\.takeover)*\.\d+\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Never rejects: what cannot be removed does no harm. */
export async function removeLeftovers(lockPath: string): Promise<void> {
  const folder = dirname(lockPath)
  try {
    const names = readdirSync(folder)
    const named = new Set(names.filter((name) => lockName.test(name)).map((name) => socketNamedIn(join(folder, name))))
    for (const name of names) {
      const path = join(folder, name)
      const isLeft = isAsideOf(basename(lockPath), name)
        ? await isAsideLeft(path)
        : LIFE_SOCKET_NAME.test(name) && !named.has(name) && (await isSocketLeft(path))
      if (isLeft) rmSync(path, { force: true })
    }
  } catch {
    // Another process may remove the same.
  }
}

function socketNamedIn(path: string): string | undefined {
  const socket = readHolder(path)?.socket
  return socket === undefined ? undefined : basename(socket)
}

function isAsideOf(lock: string, name: string): boolean {
  return name.startsWith(lock) && asideEnding.test(name.slice(lock.length))
}

/** Whether the writer of a lock that was put aside has gone: it listened before it wrote, so the answer of its socket can be relied on. */
async function isAsideLeft(path: string): Promise<boolean> {
  const writer = readHolder(path)
  if (writer === undefined) return isOlderThanWe(path)
  return (await judge(writer, surroundings(isLocalFolder(dirname(path))))) === 'gone'
}

/** For a moment a socket is there and nobody listens yet. That moment is over when a whole process has started since. */
async function isSocketLeft(path: string): Promise<boolean> {
  return isOlderThanWe(path) && lstatSync(path).isSocket() && (await askSocket(path)) === 'dead'
}

function isOlderThanWe(path: string): boolean {
  return lstatSync(path).mtimeMs < performance.timeOrigin
}
