/** The streams of one session by id, and what is done to many of them at once. */
import { StreamError, type StreamErrorCode } from './errors.ts'
import type { Stream } from './stream.ts'

export class StreamTable {
  readonly #streams = new Map<number, Stream>()

  get size(): number {
    return this.#streams.size
  }

  /** Whether bytes are still to come, or to go, on some stream; those that only wait to be read do not count. */
  get hasOpen(): boolean {
    for (const { isWireClosed } of this.#streams.values()) if (!isWireClosed) return true
    return false
  }

  get(id: number): Stream | undefined {
    return this.#streams.get(id)
  }

  add(stream: Stream): void {
    this.#streams.set(stream.id, stream)
  }

  remove(stream: Stream): void {
    this.#streams.delete(stream.id)
  }

  /** Nobody is told but the owners: the session is over. */
  failAll(cause: Error): void {
    for (const stream of [...this.#streams.values()]) {
      stream.fail(new StreamError('session-ended', `the session ended: ${cause.message}`, { cause }), false)
    }
  }

  resetAll(code: StreamErrorCode, why: string): void {
    for (const stream of [...this.#streams.values()]) stream.dropUnread(new StreamError(code, why))
  }

  resetLargest(): void {
    let largest: Stream | undefined
    for (const stream of this.#streams.values()) {
      if (largest === undefined || stream.heldBytes > largest.heldBytes) largest = stream
    }
    const held = largest?.heldBytes ?? 0
    largest?.dropUnread(
      new StreamError('buffer-limit', `stream ${largest.id} held ${held} bytes when memory for buffers ran out`),
    )
  }

  resetIdle(nowMs: number, idleMs: number): void {
    for (const stream of this.#streams.values()) {
      if (stream.activeMs > nowMs - idleMs) continue
      stream.dropUnread(new StreamError('idle', `stream ${stream.id} moved no byte for ${idleMs / 1000} s`))
    }
  }
}
