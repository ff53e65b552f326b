/** Waits for a disk, but not for ever: one that hangs has failed. */
import type { Clock } from '../../runtime/clock.ts'

/** For one transaction, or one step with files. Slow cards take seconds for a sync when they are busy. */
export const DISK_ANSWER_MS = 30_000

export class DiskHangsError extends Error {
  override readonly name = 'DiskHangsError'
}

/** Rejects with DiskHangsError; what was begun goes on, and nobody hears of its end. */
export async function answeredInTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.schedule(DISK_ANSWER_MS, () => {
      reject(new DiskHangsError(`the disk has not answered for ${DISK_ANSWER_MS / 1000} s`))
    })
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}
