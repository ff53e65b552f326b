/**
 * Listening on a unix socket that only its owner, or one group, may use. There is no moment in which others could: the socket
 * is made in a folder of its own that nobody else may enter, and moved to its place when its mode is right.
 */

import { chmod, chown, lstat, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { connect, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { MAX_SOCKET_PATH_BYTES } from '../../process/control-socket.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'

const ownerOnly = 0o600
const ownerAndGroup = 0o660
const nestPrefix = '.cw-'
const nestSocketName = 's'
/** What `mkdtemp` adds to the prefix. */
const randomLength = 6

export interface UnixSocketAddress {
  readonly path: string
  /** A group whose members may use it as the owner may. */
  readonly groupId?: number
}

class UnixSocketError extends ExplainedError {
  override readonly name = 'UnixSocketError'
}

/** Resolves once the server listens there, with what takes the socket away again. A leftover that nobody serves is replaced. */
export async function listenOnUnixSocket(server: Server, address: UnixSocketAddress): Promise<() => Promise<void>> {
  const { path, groupId } = address
  checkLength(path)
  await checkFolder(path)
  await checkFree(path)
  let nest: string | undefined
  try {
    nest = await mkdtemp(join(dirname(path), nestPrefix))
    const made = join(nest, nestSocketName)
    await listen(server, made)
    if (groupId !== undefined) await chown(made, -1, groupId)
    await chmod(made, groupId === undefined ? ownerOnly : ownerAndGroup)
    await rename(made, path)
  } catch (error) {
    if (server.listening) server.close()
    throw new UnixSocketError(`cannot listen on ${path}: ${(error as Error).message}`, { cause: error })
  } finally {
    if (nest !== undefined) await rm(nest, { recursive: true, force: true })
  }
  const { ino } = await lstat(path)
  return () => removeIfOurs(path, ino)
}

function checkLength(path: string): void {
  const nested = join(dirname(path), nestPrefix + '-'.repeat(randomLength), nestSocketName)
  const length = Math.max(Buffer.byteLength(path), Buffer.byteLength(nested))
  if (length > MAX_SOCKET_PATH_BYTES)
    throw new UnixSocketError(
      `the path ${path} is too long for a socket, which may have ${MAX_SOCKET_PATH_BYTES} bytes; choose a shorter one`,
    )
}

async function checkFolder(path: string): Promise<void> {
  const found = await stat(dirname(path)).catch(() => undefined)
  if (found?.isDirectory() !== true)
    throw new UnixSocketError(`cannot listen on ${path}: there is no folder ${dirname(path)}; make it first`)
}

async function checkFree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isSocket())
    throw new UnixSocketError(`cannot listen on ${path}: there is something that is not a socket; remove it first`)
  if (await isServed(path)) throw new UnixSocketError(`cannot listen on ${path}: another process already listens there`)
}

/** Only a refusal says that nobody is there; whatever else goes wrong, the socket may be somebody's. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect({ path })
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Removes the socket unless another process has taken the place since. */
async function removeIfOurs(path: string, ino: number): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.ino === ino) await rm(path, { force: true })
}
