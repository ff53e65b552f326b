/**
 * One process a data directory. LMDB itself would let several in, but the group commit decides conditions by what this
 * process knows. LMDB's reader table tells who is there: each process has its slot, guarded by a lock that the kernel
 * releases when the process ends, however it ends. Of two that open at the same instant both see each other and both
 * give way; neither has written.
 */
import { StoreOpenError } from '../store-errors.ts'

/** LMDB shares one environment among all who open the same path in one process, so it cannot tell those apart. */
const openHere = new Set<string>()

/** Takes the directory, given by its real path, for one store of this process; returns what gives it free again. */
export function claim(path: string): () => void {
  if (openHere.has(path)) throw new StoreOpenError(`the store in ${path} is already open in this process`)
  openHere.add(path)
  return () => openHere.delete(path)
}

/** `readerTable` is LMDB's: a heading, then a line for each reader, which begins with the id of its process. */
export function refuseOtherProcesses(path: string, readerTable: string): void {
  const processIds = readerTable
    .split('\n')
    .slice(1)
    .map((line) => Number.parseInt(line, 10))
  const other = processIds.find((id) => id > 0 && id !== process.pid)
  if (other === undefined) return
  throw new StoreOpenError(
    `the store in ${path} is in use by process ${other}; stop that one first, or use another data directory`,
  )
}
