/**
 * The frames that wait for one watcher. The stream takes as much as the client reads; what does not fit waits here, up to
 * a limit, and a client that falls behind further is cut off: it will list again, and nobody else notices.
 */
import type { ResponseStream } from '../../http/server/exchange.ts'

/** A client that is this far behind is better served by a new list. */
export const MAX_WATCH_QUEUE_BYTES = 32 * 1024 * 1024
/** Whoever can wait with what comes next waits from here on. */
export const FULL_WATCH_QUEUE_BYTES = 1024 * 1024

export class WatchQueue {
  readonly #stream: ResponseStream
  readonly #overflow: () => void
  #frames: Buffer[] = []
  #bytes = 0
  #flowing = true
  #failure: { readonly error: unknown } | undefined
  #waiting: (() => void)[] = []

  constructor(stream: ResponseStream, overflow: () => void) {
    this.#stream = stream
    this.#overflow = overflow
  }

  push(frame: Buffer): void {
    if (this.#flowing) {
      if (!this.#stream.write(frame)) this.#waitForDrain()
      return
    }
    this.#bytes += frame.length
    if (this.#bytes <= MAX_WATCH_QUEUE_BYTES) this.#frames.push(frame)
    else this.#giveUp()
  }

  get isFull(): boolean {
    return this.#bytes >= FULL_WATCH_QUEUE_BYTES
  }

  /** Resolves when it is no longer full, or when the signal aborts. */
  room(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (!this.isFull || signal.aborted) {
        resolve()
        return
      }
      const done = (): void => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      signal.addEventListener('abort', done, { once: true })
      this.#waiting.push(done)
    })
  }

  /** Ends the stream after what is queued. Throws what has kept the queue from being sent. */
  end(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#frames.length > 0) this.#stream.write(Buffer.concat(this.#frames))
    this.#frames = []
    this.#stream.end()
  }

  #waitForDrain(): void {
    this.#flowing = false
    const resume = async (): Promise<void> => {
      await this.#stream.drained()
      this.#resume()
    }
    resume().catch((error: unknown) => {
      this.#failure = { error }
      this.#giveUp()
    })
  }

  /** What the client will not read any more is not kept for it. */
  #giveUp(): void {
    this.#frames = []
    this.#overflow()
  }

  #resume(): void {
    this.#flowing = true
    const frames = this.#frames
    this.#frames = []
    this.#bytes = 0
    if (frames.length > 0 && !this.#stream.write(Buffer.concat(frames))) this.#waitForDrain()
    for (const resume of this.#waiting.splice(0)) resume()
  }
}
