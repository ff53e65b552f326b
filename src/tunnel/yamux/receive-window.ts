/**
 * How much one stream of the peer may send us. Credit goes back when the reader has taken half a window, or of a large one a
 * good part, and the window doubles while a reader that keeps up takes it faster than four round trips: then the window is what limits the stream. It
 * stays within the session's account, and shrinks to a fair share when there are many streams, by giving back less than was
 * read.
 */
import type { Account } from './budget.ts'
import { MIN_WINDOW_BYTES } from './limits.ts'
import { INITIAL_WINDOW_BYTES } from './wire.ts'

/** A window that is used up within this many round trips is too small. */
const GROWTH_ROUND_TRIPS = 4

/** A window of which more than one part in this many was unread all the time since the last update does not grow. */
const MAX_UNREAD_RATIO = 4

/**
 * What is read goes back as credit at this much at the latest. A sender that has to wait for credit falls into step with it
 * and leaves as much of the window unused as is given back at a time: half of the largest window would halve a long line.
 */
export const MAX_CREDIT_STEP_BYTES = 1024 * 1024

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
  #creditBytes = INITIAL_WINDOW_BYTES
  /** When half a window had been used up last; then it is seen whether it should grow. */
  #judgedMs: number | undefined
  #usedBytes = 0
  /**
   * The least that was left unread since then. What is unread at the moment says nothing: a window that crossed a long line
   * comes in one burst, half of which is always still unread when credit falls due.
   */
  #leastUnreadBytes = 0

  constructor(account: Account, maxBytes: number) {
    this.#account = account
    this.#maxBytes = maxBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** What the peer may send before it hears from us. */
  get creditBytes(): number {
    return this.#creditBytes
  }

  /** Counts bytes that arrive; false if the peer sends more than it was allowed. */
  take(bytes: number): boolean {
    if (bytes > this.#creditBytes) return false
    this.#creditBytes -= bytes
    return true
  }

  /** To be called after each read; true if so much has been read that an update is due. */
  wasRead(unreadBytes: number): boolean {
    this.#leastUnreadBytes = Math.min(this.#leastUnreadBytes, unreadBytes)
    const stepBytes = Math.min(MAX_CREDIT_STEP_BYTES, this.#sizeBytes / 2)
    return this.#sizeBytes - this.#creditBytes - unreadBytes >= stepBytes
  }

  /** The credit to send now, to be called when an update is due. */
  update(unreadBytes: number, conditions: WindowConditions): number {
    this.#usedBytes += Math.max(0, this.#sizeBytes - this.#creditBytes - unreadBytes)
    this.#shrink(conditions.streams)
    if (this.#usedBytes * 2 >= this.#sizeBytes) this.#judge(unreadBytes, conditions)
    const credit = this.#sizeBytes - this.#creditBytes - unreadBytes
    if (credit <= 0) return 0
    this.#creditBytes += credit
    return credit
  }

  /** Gives promised bytes back; the window is of no use afterwards. */
  close(): void {
    this.#account.takeBack(aboveInitial(this.#sizeBytes))
    this.#sizeBytes = 0
  }

  #shrink(streams: number): void {
    const fairBytes = this.#fairBytes(streams)
    if (this.#sizeBytes <= fairBytes) return
    this.#account.takeBack(aboveInitial(this.#sizeBytes) - aboveInitial(fairBytes))
    this.#sizeBytes = fairBytes
  }

  #judge(unreadBytes: number, conditions: WindowConditions): void {
    if (this.#isTooSmall(conditions)) {
      const grownBytes = Math.min(this.#fairBytes(conditions.streams), this.#sizeBytes * 2)
      if (this.#account.promise(aboveInitial(grownBytes) - aboveInitial(this.#sizeBytes))) this.#sizeBytes = grownBytes
    }
    this.#judgedMs = conditions.nowMs
    this.#usedBytes = 0
    this.#leastUnreadBytes = unreadBytes
  }

  #isTooSmall({ nowMs, rttMs }: WindowConditions): boolean {
    if (rttMs === undefined || this.#judgedMs === undefined) return false
    // With this much always unread the reader is what limits the stream, and a larger window would only fill memory.
    if (this.#leastUnreadBytes * MAX_UNREAD_RATIO > this.#sizeBytes) return false
    return nowMs - this.#judgedMs < GROWTH_ROUND_TRIPS * rttMs
  }

  #fairBytes(streams: number): number {
    return Math.max(MIN_WINDOW_BYTES, Math.min(this.#maxBytes, this.#account.fairWindowBytes(streams)))
  }
}

function aboveInitial(bytes: number): number {
  return Math.max(0, bytes - INITIAL_WINDOW_BYTES)
}
