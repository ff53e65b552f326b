/** The few file operations that durable writing is made of, as an interface, so that tests can fail between any two. */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { checkIsFile, READ_WITHOUT_WAITING } from './regular-file.ts'

export interface NewFile {
  write(bytes: Uint8Array): Promise<void>
  /** Returns when the content has reached the disk. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface FileOperations {
  /** Fails if the path exists, even as a dangling link. */
  create(path: string, mode: number): Promise<NewFile>
  /** Replaces `to` in one step. */
  rename(from: string, to: string): Promise<void>
  /** A path that does not exist is fine. */
  remove(path: string): Promise<void>
  /** Returns when the names in the folder have reached the disk. */
  syncFolder(path: string): Promise<void>
  /** At most `maxBytes + 1` bytes of the file; `undefined` if there is none. Fails on what is no regular file. */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>
  /** The names in the folder. */
  list(path: string): Promise<string[]>
}

export const diskOperations: FileOperations = { create, rename, remove, syncFolder, read, list: readdir }

async function create(path: string, mode: number): Promise<NewFile> {
  const handle = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, mode)
  try {
    // The process's umask may have taken bits away.
    await handle.chmod(mode)
  } catch (error) {
    await handle.close()
    throw error
  }
  return {
    write: async (bytes) => await handle.writeFile(bytes),
    sync: async () => await handle.sync(),
    close: async () => await handle.close(),
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { force: true })
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function read(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const handle = await openExisting(path)
  if (handle === undefined) return undefined
  try {
    checkIsFile(await handle.stat())
    const chunks: Buffer[] = []
    let total = 0
    while (total <= maxBytes) {
      const chunk = Buffer.alloc(Math.min(64 * 1024, maxBytes + 1 - total))
      const { bytesRead } = await handle.read(chunk, 0, chunk.length)
      if (bytesRead === 0) break
      chunks.push(chunk.subarray(0, bytesRead))
      total += bytesRead
    }
    return Buffer.concat(chunks)
  } finally {
    await handle.close()
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, READ_WITHOUT_WAITING)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
