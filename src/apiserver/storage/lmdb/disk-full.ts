/**
 * Tells whether a write failed for want of room. LMDB hides it: a write of which only a part went through, which is how a
 * disk usually gets full, is reported as EIO, like a broken disk. So the file is asked again, by putting some zeros behind
 * its end, where they hurt nobody: LMDB does not look there before it has written there.
 */
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'

const EIO = 5
const MDB_MAP_FULL = -30792
/** EFBIG, ENOSPC, EDQUOT. */
const FULL_CODES: ReadonlySet<number> = new Set([27, 28, 122, MDB_MAP_FULL])
const FULL_NAMES: ReadonlySet<string> = new Set(['EFBIG', 'ENOSPC', 'EDQUOT'])
const PROBE = Buffer.alloc(64 * 1024)

/** `code` is what LMDB gave. Must not be called while a transaction is being written. */
export function isFull(code: number, dataFile: string): boolean {
  return FULL_CODES.has(code) || (code === EIO && !hasRoom(dataFile))
}

/** Whether the file may grow. Leaves it a little longer if so. */
export function hasRoom(dataFile: string): boolean {
  const file = openSync(dataFile, 'r+')
  try {
    return writeSync(file, PROBE, 0, PROBE.length, fstatSync(file).size) === PROBE.length
  } catch (error) {
    return !FULL_NAMES.has((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    closeSync(file)
  }
}
