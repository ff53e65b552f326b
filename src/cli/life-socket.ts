/**
 * A sign of life that the kernel takes back: a unix socket that a process listens on for as long as it lives, however it dies.
 * Who can see the file can ask, also from another pid, network or host name namespace; a process id tells nothing there.
 */
import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { MAX_SOCKET_PATH_BYTES } from '../process/control-socket.ts'

/** Mode of the socket. Its folder is closed to others already; a folder may be opened later. */
const ownerOnly = 0o600

export interface LifeSocket {
  readonly path: string
  close(): void
}

/** `undefined` where the path is too long for a socket or the file system has none. */
export function openLifeSocket(path: string): Promise<LifeSocket | undefined> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    // That a connection comes about is the whole answer.
    const server = createServer((socket) => socket.destroy())
    const close = (): void => {
      server.close()
      rmSync(path, { force: true })
    }
    server.once('error', () => resolve(undefined))
    server.listen({ path }, () => {
      server.unref()
      server.on('error', () => {})
      const isClosed = isClosedToOthers(path)
      if (!isClosed) close()
      resolve(isClosed ? { path, close } : undefined)
    })
  })
}

/** Not where somebody has taken the file away already, or the file system knows no owners. */
function isClosedToOthers(path: string): boolean {
  try {
    chmodSync(path, ownerOnly)
    return true
  } catch {
    return false
  }
}

/** `unknown`: the file is gone or may not be used, so that it proves nothing. */
export function askSocket(path: string): Promise<'alive' | 'dead' | 'unknown'> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve('alive')
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      // A full queue of connections is one that a living process has not emptied yet.
      if (code === 'EAGAIN') resolve('alive')
      else resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown')
    })
  })
}
