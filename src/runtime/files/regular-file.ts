/** Reads files by names that people give: no pipe that waits for its writer without end, no device that never ends. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'

/** With this flag opening a pipe does not wait for its writer. */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK

const messages = { folder: 'it is a folder', link: 'it is a link', special: 'it is not a regular file' } as const

export class NotRegularFileError extends Error {
  override readonly name = 'NotRegularFileError'
  readonly kind: keyof typeof messages

  constructor(kind: keyof typeof messages) {
    super(messages[kind])
    this.kind = kind
  }
}

/** Throws what to say of anything but a file; `stats` are those of what was opened. */
export function checkIsFile(stats: Pick<Stats, 'isFile' | 'isDirectory'>): void {
  if (stats.isDirectory()) throw new NotRegularFileError('folder')
  if (!stats.isFile()) throw new NotRegularFileError('special')
}

export interface ReadLimits {
  /** One byte more is read of a file that is larger, so that the caller can tell. All of it where this is absent. */
  readonly maxBytes?: number
  /** A link as the last part of the path counts as no regular file. */
  readonly refuseLinks?: boolean
}

export function readRegularFile(path: string, { maxBytes, refuseLinks = false }: ReadLimits = {}): Buffer {
  const file = open(path, refuseLinks)
  try {
    checkIsFile(fstatSync(file))
    return maxBytes === undefined ? readFileSync(file) : readUpTo(file, maxBytes + 1)
  } finally {
    closeSync(file)
  }
}

function readUpTo(file: number, maxBytes: number): Buffer {
  const buffer = Buffer.alloc(maxBytes)
  let length = 0
  for (let read = -1; read !== 0; length += read) read = readSync(file, buffer, length, buffer.length - length, null)
  return buffer.subarray(0, length)
}

function open(path: string, refuseLinks: boolean): number {
  try {
    return openSync(path, READ_WITHOUT_WAITING | (refuseLinks ? constants.O_NOFOLLOW : 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (refuseLinks && code === 'ELOOP') throw new NotRegularFileError('link')
    // A socket.
    if (code === 'ENXIO') throw new NotRegularFileError('special')
    throw error
  }
}
