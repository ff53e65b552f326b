/**
 * Files that are either wholly old or wholly new, whatever happens: the new content is written beside the old, forced to
 * disk, and only then given the name. Who returns from `writeFileAtomically` may pull the plug.
 */
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { FileError } from './file-error.ts'
import { diskOperations, type FileOperations, type NewFile } from './file-operations.ts'

/** Read and write for the owner, nothing for others: most of what we keep is secret. */
const PRIVATE_FILE_MODE = 0o600
/** Certificates are no secret, and tools that run as somebody else want to see when they end. */
export const PUBLIC_FILE_MODE = 0o644
/** Far more than any certificate, key or token file; what is larger was named by mistake. */
export const MAX_FILE_BYTES = 1024 * 1024

const TEMPORARY_NAME = /^\..+\.[0-9a-f]{16}\.tmp$/

export interface WriteOptions {
  readonly mode?: number
  readonly files?: FileOperations
}

export interface ReadOptions {
  readonly maxBytes?: number
  readonly files?: FileOperations
}

/** If it throws before the name is given, the old content stands and nothing is left over. A symbolic link is replaced. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  { mode = PRIVATE_FILE_MODE, files = diskOperations }: WriteOptions = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    await writeDurably(files, temporary, Buffer.from(content), mode)
    await files.rename(temporary, path)
    await files.syncFolder(dirname(path))
  } catch (error) {
    // The first failure is the one to report; that tidying up may fail as well on a broken disk adds nothing.
    await files.remove(temporary).catch(() => undefined)
    throw new FileError('unwritable-file', `cannot write ${path}: ${explain(error)}`, { cause: error })
  }
}

async function writeDurably(files: FileOperations, path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const file: NewFile = await files.create(path, mode)
  try {
    await file.write(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Removes what writes that a crash cut off have left behind. Only for a folder in which nobody is writing now. */
export async function removeTemporaryFiles(folder: string, files: FileOperations = diskOperations): Promise<void> {
  try {
    const names = await files.list(folder)
    for (const name of names.filter((name) => TEMPORARY_NAME.test(name))) await files.remove(join(folder, name))
  } catch (error) {
    throw new FileError('unwritable-file', `cannot clear up ${folder}: ${explain(error)}`, { cause: error })
  }
}

/** The whole file; `undefined` if there is none. A larger one than `maxBytes` is an error, never a part of it. */
export async function readFileBounded(
  path: string,
  { maxBytes = MAX_FILE_BYTES, files = diskOperations }: ReadOptions = {},
): Promise<Buffer | undefined> {
  const content = await readOrExplain(files, path, maxBytes)
  if (content !== undefined && content.length > maxBytes)
    throw new FileError('too-large', `${path} is larger than ${maxBytes} bytes; is it the right file?`)
  return content
}

async function readOrExplain(files: FileOperations, path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return await files.read(path, maxBytes)
  } catch (error) {
    throw new FileError('unreadable-file', `cannot read ${path}: ${explain(error)}`, { cause: error })
  }
}

export function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'this user may not'
    case 'EISDIR':
      return 'it is a folder'
    case 'ENOENT':
      return 'its folder does not exist'
    case 'ENOTDIR':
      return 'a part of the path is a file'
    case 'ENOSPC':
      return 'the disk is full'
    case 'EROFS':
      return 'the file system is read-only'
    default:
      return message
  }
}
