/** Reads configuration from disk without trusting the name: no device without end, no pipe that waits for a writer. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Throws the system's error, or one without a code for a file that is none of ours. */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer> {
  // Opening a pipe would wait for its writer without this flag.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('not a regular file')
    return await readUpTo(file, maxBytes)
  } finally {
    await file.close()
  }
}

/** A file may grow while it is read, so its size is no promise. */
async function readUpTo(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of file.createReadStream({ end: maxBytes, autoClose: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece)
    length += piece.length
  }
  if (length > maxBytes) throw new Error(`larger than ${maxBytes} bytes`)
  return Buffer.concat(pieces, length)
}

/** Why a file could not be read, in few words. */
export function readFailureReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
