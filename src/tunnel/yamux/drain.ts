/**
 * The end of a session in good order. Streams that the peer opened before it had read our go-away are honest ones, so they are
 * taken until it certainly has: until it has answered a ping that was sent after the go-away. Bytes arrive in order, so
 * everything it opened in ignorance has come by then.
 */
import { MAX_GO_AWAY_ANSWER_MS } from './limits.ts'

export class Drain {
  #hasBegun = false
  #untilMs = Number.POSITIVE_INFINITY
  #patienceUntilMs = Number.POSITIVE_INFINITY
  #isPatienceOver = false
  #ping: number | undefined
  #isRead = false

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** The peer is known to have read the go-away: what it opens now, it opens in spite of it. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** When something has to happen although nobody sends anything. */
  get dueMs(): number {
    return Math.min(this.#untilMs, this.#patienceUntilMs)
  }

  /** May be called again with an earlier end. True the first time: then the go-away is to be sent, and a ping behind it. */
  begin(nowMs: number, drainMs: number): boolean {
    this.#untilMs = Math.min(this.#untilMs, nowMs + drainMs)
    if (this.#hasBegun) return false
    this.#hasBegun = true
    this.#patienceUntilMs = nowMs + MAX_GO_AWAY_ANSWER_MS
    return true
  }

  /** A ping with that value is on its way, behind everything said so far. */
  pinged(value: number): void {
    if (this.#hasBegun) this.#ping ??= value
  }

  /** The peer has answered that ping; true if it has therewith read the go-away. */
  ponged(value: number): boolean {
    // Values wrap around; a later ping proves the same.
    if (this.#isRead || this.#ping === undefined || ((value - this.#ping) | 0) < 0) return false
    this.#isRead = true
    this.#patienceUntilMs = Number.POSITIVE_INFINITY
    return true
  }

  /** To be called when `dueMs` has come. */
  tick(nowMs: number): void {
    if (nowMs < this.#patienceUntilMs) return
    this.#isPatienceOver = true
    this.#patienceUntilMs = Number.POSITIVE_INFINITY
  }

  /** Whether the session is over as soon as it has no streams. */
  isSettled(nowMs: number): boolean {
    return this.#hasBegun && (this.#isRead || this.#isPatienceOver || this.isOverdue(nowMs))
  }

  /** Whether what is still there has had its time. */
  isOverdue(nowMs: number): boolean {
    return nowMs >= this.#untilMs
  }
}
