/**
 * Stops writing before the disk is full. The room that is left then is what deletes, expiries and compactions need to go
 * on; and LMDB is spared a full disk, on which the package's report of the error, if it happens again and again, overruns
 * its buffer and ends the process. LMDB's file never shrinks: what they free inside it is used again once there is room on
 * the disk.
 */
import { statfsSync } from 'node:fs'
import type { Clock } from '../../../telemetry/clock.ts'
import { StoreFullError } from '../store-errors.ts'

/** What puts leave free on the disk: deleting and compacting may still use it. */
export const RESERVED_BYTES = 32 * 1024 * 1024
/** Below this nothing at all is written. */
export const MIN_FREE_BYTES = 4 * 1024 * 1024
/** How old a measurement may be: no disk fills the reserve in that time. */
export const MEASURE_INTERVAL_MS = 200

export class DiskRoom {
  readonly #clock: Clock
  readonly #directory: string
  readonly #measure: (directory: string) => number
  #freeBytes = Number.POSITIVE_INFINITY
  #measuredAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, directory: string, measure: (directory: string) => number = freeBytesOf) {
    this.#clock = clock
    this.#directory = directory
    this.#measure = measure
  }

  /** Throws StoreFullError unless there is room for a write, which `grows` when it puts something. */
  check(grows: boolean): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#measuredAtMs >= MEASURE_INTERVAL_MS) {
      this.#freeBytes = this.#measure(this.#directory)
      this.#measuredAtMs = nowMs
    }
    const neededBytes = grows ? RESERVED_BYTES : MIN_FREE_BYTES
    if (this.#freeBytes >= neededBytes) return
    throw new StoreFullError(
      `the disk under ${this.#directory} has ${this.#freeBytes} bytes left, the store wants ${neededBytes}; make room there`,
    )
  }
}

/** Infinite where the file system does not say. */
export function freeBytesOf(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
