/**
 * Looks at a database file before LMDB does: given something that is not one, or only the beginning of one, the package
 * does not refuse but ends the whole process. Offsets are those of LMDB's meta pages, of which a file has two, at its
 * beginning; the one with the greater transaction id counts.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StoreOpenError } from '../store-errors.ts'

const META_BYTES = 160
const MAGIC_AT = 24
const MAGIC = 0xbeefc0de
const VERSION_AT = 28
const VERSION = 2
const PAGE_BYTES_AT = 48
const ROOT_PAGES_AT = [88, 136] as const
const TRANSACTION_AT = 152
const NO_PAGE = 0xffff_ffff_ffff_ffffn

/** Returns when the file is missing, empty or sound as far as can be told; throws StoreOpenError. */
export function checkDataFile(path: string): void {
  const file = openIfThere(path)
  if (file === undefined) return
  try {
    const { size } = fstatSync(file)
    if (size === 0) return
    const problem = findProblem(size, (offset) => readMeta(file, offset))
    if (problem === undefined) return
    throw new StoreOpenError(`${path} ${problem}; restore it from a backup, or remove it to begin anew`)
  } finally {
    closeSync(file)
  }
}

function findProblem(size: number, metaAt: (offset: number) => Buffer): string | undefined {
  const first = metaAt(0)
  if (first.readUInt32LE(MAGIC_AT) !== MAGIC) return 'is not a database of this store'
  const version = first.readUInt32LE(VERSION_AT)
  if (version !== VERSION) return `is an LMDB database of version ${version}, not ${VERSION}`
  const pageBytes = first.readUInt32LE(PAGE_BYTES_AT)
  const second = metaAt(pageBytes)
  if (second.readUInt32LE(MAGIC_AT) !== MAGIC) return 'is damaged at its beginning'
  const isSecondNewer = second.readBigUInt64LE(TRANSACTION_AT) > first.readBigUInt64LE(TRANSACTION_AT)
  const newer = isSecondNewer ? second : first
  const roots = ROOT_PAGES_AT.map((offset) => newer.readBigUInt64LE(offset)).filter((page) => page !== NO_PAGE)
  const isCut = roots.some((page) => (page + 1n) * BigInt(pageBytes) > BigInt(size))
  return isCut ? `is cut off: it has ${size} bytes` : undefined
}

/** What lies beyond the end of the file reads as zeros. */
function readMeta(file: number, offset: number): Buffer {
  const bytes = Buffer.alloc(META_BYTES)
  readSync(file, bytes, 0, META_BYTES, offset)
  return bytes
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
