/**
 * Reading a small file that somebody else put there. Only regular files are read: a pipe would wait for ever, a device
 * might never end.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const NO_FILE = 'a pipe, a socket or a device, not a file'

export class NotRegularFileError extends Error {
  override readonly name = 'NotRegularFileError'
  readonly what: string

  /** `what` completes the sentence "it is ...". */
  constructor(path: string, what: string) {
    super(`${path} is ${what}`)
    this.what = what
  }
}

export interface ReadLimits {
  readonly maxBytes: number
  /** A link as the last part of the path counts as no regular file. */
  readonly refuseLinks?: boolean
}

/** At most one byte more than `maxBytes`, so that the caller can tell a file that is too large. */
export function readRegularFile(path: string, { maxBytes, refuseLinks = false }: ReadLimits): Buffer {
  const file = open(path, refuseLinks)
  try {
    const stats = fstatSync(file)
    if (stats.isDirectory()) throw new NotRegularFileError(path, 'a folder, not a file')
    if (!stats.isFile()) throw new NotRegularFileError(path, NO_FILE)
    const buffer = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let read = -1; read !== 0; length += read) read = readSync(file, buffer, length, buffer.length - length, null)
    return buffer.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** Completes the sentence "cannot be read: ...", for people. */
export function explainReadFailure(error: unknown): string {
  if (error instanceof NotRegularFileError) return `it is ${error.what}`
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'ENOTDIR') return 'a part of the path is a file'
  if (code === 'EACCES') return 'this user may not read it'
  return message
}

/** Does not wait for a pipe's other end. */
function open(path: string, refuseLinks: boolean): number {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (refuseLinks ? constants.O_NOFOLLOW : 0)
  try {
    return openSync(path, flags)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (refuseLinks && code === 'ELOOP') throw new NotRegularFileError(path, 'a link, not a file')
    // A socket.
    if (code === 'ENXIO') throw new NotRegularFileError(path, NO_FILE)
    throw error
  }
}
