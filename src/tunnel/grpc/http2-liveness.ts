/** Pings the far end of an HTTP/2 connection: TCP alone does not notice a peer that has lost its power. */
import type { Clock } from '../../runtime/clock.ts'

/** A session of Node is one. */
export interface Pingable {
  readonly destroyed: boolean
  ping(callback: (error: Error | null, durationMs: number) => void): unknown
}

export interface LivenessOptions {
  readonly clock: Clock
  readonly intervalMs: number
  /** Without an answer for as long the far end counts as gone. */
  readonly deadAfterMs: number
  /** What has come in so far. On a slow link an answer stands behind what was sent before it, and that is a sign of life too. */
  readonly receivedBytes?: () => number
  readonly onDead: () => void
}

export class Http2Liveness {
  readonly #session: Pingable
  readonly #options: LivenessOptions
  #lastSignMs: number
  #seenBytes = 0
  #cancel = (): void => {}
  #rttMs: number | undefined

  constructor(session: Pingable, options: LivenessOptions) {
    this.#session = session
    this.#options = options
    this.#lastSignMs = options.clock.monotonicMs()
    this.#plan()
  }

  /** Absent until the first answer. */
  get rttMs(): number | undefined {
    return this.#rttMs
  }

  stop(): void {
    this.#cancel()
  }

  #plan(): void {
    this.#cancel = this.#options.clock.schedule(this.#options.intervalMs, () => this.#ping())
  }

  #ping(): void {
    const { clock, deadAfterMs, onDead } = this.#options
    if (this.#session.destroyed) return
    this.#lookAtBytes()
    if (clock.monotonicMs() - this.#lastSignMs >= deadAfterMs) {
      onDead()
      return
    }
    this.#plan()
    this.#session.ping((error, durationMs) => {
      if (error !== null) return
      this.#rttMs = durationMs
      this.#lastSignMs = clock.monotonicMs()
    })
  }

  #lookAtBytes(): void {
    const bytes = this.#options.receivedBytes?.() ?? 0
    if (bytes !== this.#seenBytes) this.#lastSignMs = this.#options.clock.monotonicMs()
    this.#seenBytes = bytes
  }
}
