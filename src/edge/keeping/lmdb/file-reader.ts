/**
 * Reads pieces of a file. What the disk cannot give reads as zeros, sector by sector, so that one bad place costs no more than
 * itself. Nothing is mapped into memory: a file that is cut off while it is read, or a disk that fails, gives an error
 * here and no signal that ends the process.
 */
import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { READ_WITHOUT_WAITING } from '../../../runtime/files/regular-file.ts'

/** At a time, while a file is read from its beginning to its end. */
const READ_AHEAD_BYTES = 1024 * 1024
/** What is read alone where more cannot be. */
const SECTOR_BYTES = 4 * 1024

/** As much of a file as is needed here; tests have one with bad sectors. */
export interface ReadableFile {
  readonly sizeBytes: number
  /** Fills `target` from `offset` on; returns how many bytes there were. */
  read(target: Buffer, offset: number): number
  /** Fills `target` from `offset` on, where the disk may have to be waited for; how many bytes there were. */
  readLater(target: Buffer, offset: number): Promise<number>
  close(): Promise<void>
}

export class FileReader {
  readonly #file: ReadableFile

  constructor(file: ReadableFile) {
    this.#file = file
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes
  }

  /**
   * Reads all of it in order and throws it away: the system remembers it. Rows lie in any order, and a card needs a hundred
   * times as long for single pages as for the same in a row; and whoever reads a page afterwards need not wait for it.
   */
  async readAhead(): Promise<void> {
    const target = Buffer.allocUnsafe(Math.min(READ_AHEAD_BYTES, this.sizeBytes))
    for (let offset = 0; offset < this.sizeBytes; offset += READ_AHEAD_BYTES) {
      // What cannot be read is found out again, in smaller pieces, by those who want it.
      await this.#file.readLater(target, offset).catch(() => 0)
    }
  }

  /** Memory of its own. What lies beyond the end of the file is zeros. */
  copy(offset: number, length: number): Buffer {
    const target = Buffer.allocUnsafeSlow(length)
    try {
      target.fill(0, this.#file.read(target, offset))
    } catch {
      for (let at = 0; at < length; at += SECTOR_BYTES)
        this.#copySector(target.subarray(at, at + SECTOR_BYTES), offset + at)
    }
    return target
  }

  #copySector(target: Buffer, offset: number): void {
    try {
      target.fill(0, this.#file.read(target, offset))
    } catch {
      target.fill(0)
    }
  }
}

/** `undefined` if there is none. */
export async function openReadableFile(path: string): Promise<ReadableFile | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, READ_WITHOUT_WAITING)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new Error(`${path} is no file`)
    return {
      sizeBytes: stats.size,
      read: (target, offset) => readSync(handle.fd, target, 0, target.length, offset),
      readLater: async (target, offset) => (await handle.read(target, 0, target.length, offset)).bytesRead,
      close: async () => await handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}
