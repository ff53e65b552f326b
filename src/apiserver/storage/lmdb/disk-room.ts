/**
 * Stops writing before the disk is full. The room that is left then is what deletes, expiries and compactions need to go
 * on; and LMDB is spared a full disk, on which the package's report of the error, if it happens again and again, overruns
 * its buffer and ends the process. LMDB's file never shrinks: what they free inside it LMDB uses before it lets the file
 * grow, so that it counts as room too.
 */
import { statfsSync } from 'node:fs'
import type { Clock } from '../../../runtime/clock.ts'
import { StoreFullError } from '../store-errors.ts'

/** What puts leave free, on the disk and inside the store's file together: deleting and compacting may still use it. */
export const RESERVED_BYTES = 32 * 1024 * 1024
/**
 * What puts leave free on the disk, however much is free inside the file: large values need pages in a row, and the file
 * grows where it has none.
 */
export const MIN_FREE_TO_GROW_BYTES = 16 * 1024 * 1024
/** Below this nothing at all is written. */
export const MIN_FREE_BYTES = 4 * 1024 * 1024
/** How old a measurement may be: no disk fills the reserve in that time. */
export const MEASURE_INTERVAL_MS = 200

const bytesPerMebibyte = 1024 * 1024

export interface RoomMeasures {
  /** What the file system still gives away. */
  diskFreeBytes(): number
  /** What lies unused inside the store's file; asked only when the disk alone is not enough. */
  storeFreeBytes(): number
}

export class DiskRoom {
  readonly #clock: Clock
  readonly #directory: string
  readonly #measures: RoomMeasures
  #diskFreeBytes = Number.POSITIVE_INFINITY
  #storeFreeBytes = 0
  #measuredAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, directory: string, measures: RoomMeasures) {
    this.#clock = clock
    this.#directory = directory
    this.#measures = measures
  }

  /** Throws StoreFullError unless there is room for a write, which `grows` when it puts something. */
  check(grows: boolean): void {
    this.#measureNowAndThen()
    const wantedBytes = grows ? Math.max(MIN_FREE_TO_GROW_BYTES, RESERVED_BYTES - this.#storeFreeBytes) : MIN_FREE_BYTES
    if (this.#diskFreeBytes >= wantedBytes) return
    const left = mebibytes(this.#diskFreeBytes, Math.floor)
    const wanted = mebibytes(wantedBytes, Math.ceil)
    throw new StoreFullError(
      `the disk under ${this.#directory} has ${left} left, the store wants ${wanted}; ${this.#remedy()}`,
    )
  }

  #measureNowAndThen(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#measuredAtMs < MEASURE_INTERVAL_MS) return
    this.#measuredAtMs = nowMs
    this.#diskFreeBytes = this.#measures.diskFreeBytes()
    this.#storeFreeBytes = this.#diskFreeBytes < RESERVED_BYTES ? this.#measures.storeFreeBytes() : 0
  }

  #remedy(): string {
    if (this.#diskFreeBytes < MIN_FREE_TO_GROW_BYTES) return 'make room on that disk'
    return 'make room on that disk, or delete objects, which helps some minutes later, when the history forgets them'
  }
}

function mebibytes(bytes: number, round: (tenths: number) => number): string {
  return `${round((bytes / bytesPerMebibyte) * 10) / 10} MiB`
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
