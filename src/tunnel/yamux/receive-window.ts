/**
 * How much one stream of the peer may send us. Credit goes back when the reader has taken half a window, and the window
 * doubles while a reader that keeps up takes it faster than four round trips: then the window is what limits the stream. It
 * stays within the session's account, and shrinks to a fair share when there are many streams, by giving back less than was
 * read.
 */
import type { Account } from './budget.ts'
import { MIN_WINDOW_BYTES } from './limits.ts'
import { INITIAL_WINDOW_BYTES } from './wire.ts'

/** A window that is used up within this many round trips is too small. */
export const GROWTH_ROUND_TRIPS = 4

/** A window of which more than one part in this many is unread does not grow. */
export const MAX_UNREAD_RATIO = 4

/** What the session knows at the moment of an update. */
export interface WindowConditions {
  readonly nowMs: number
  readonly rttMs: number | undefined
  readonly streams: number
}

export class ReceiveWindow {
  readonly #account: Account
  readonly #maxBytes: number
  #sizeBytes = INITIAL_WINDOW_BYTES
  /** What the peer may send before it hears from us. */
  #creditBytes = INITIAL_WINDOW_BYTES
  #updatedMs: number | undefined

  constructor(account: Account, maxBytes: number) {
    this.#account = account
    this.#maxBytes = maxBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Counts bytes that arrive; false if the peer sends more than it was allowed. */
  take(bytes: number): boolean {
    if (bytes > this.#creditBytes) return false
    this.#creditBytes -= bytes
    return true
  }

  /** Whether so much has been read that an update is due. */
  isDue(unreadBytes: number): boolean {
    return (this.#sizeBytes - this.#creditBytes - unreadBytes) * 2 >= this.#sizeBytes
  }

  /** The credit to send now, to be called when an update is due. */
  update(unreadBytes: number, conditions: WindowConditions): number {
    this.#resize(unreadBytes, conditions)
    const credit = this.#sizeBytes - this.#creditBytes - unreadBytes
    if (credit <= 0) return 0
    this.#creditBytes += credit
    this.#updatedMs = conditions.nowMs
    return credit
  }

  /** Gives promised bytes back; the window is of no use afterwards. */
  close(): void {
    this.#account.takeBack(aboveInitial(this.#sizeBytes))
    this.#sizeBytes = 0
  }

  #resize(unreadBytes: number, { nowMs, rttMs, streams }: WindowConditions): void {
    const fairBytes = Math.max(MIN_WINDOW_BYTES, Math.min(this.#maxBytes, this.#account.fairWindowBytes(streams)))
    if (this.#sizeBytes > fairBytes) {
      this.#account.takeBack(aboveInitial(this.#sizeBytes) - aboveInitial(fairBytes))
      this.#sizeBytes = fairBytes
      return
    }
    if (rttMs === undefined || this.#updatedMs === undefined) return
    // With this much unread the reader is what limits the stream, and a larger window would only fill memory.
    if (unreadBytes * MAX_UNREAD_RATIO > this.#sizeBytes) return
    if (nowMs - this.#updatedMs >= GROWTH_ROUND_TRIPS * rttMs) return
    const grownBytes = Math.min(fairBytes, this.#sizeBytes * 2)
    if (this.#account.promise(aboveInitial(grownBytes) - aboveInitial(this.#sizeBytes))) this.#sizeBytes = grownBytes
  }
}

function aboveInitial(bytes: number): number {
  return Math.max(0, bytes - INITIAL_WINDOW_BYTES)
}
