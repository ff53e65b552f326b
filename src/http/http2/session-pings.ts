/** Pings with a callback each, as those who look after a connection's life want them. */
import type { Clock } from '../../runtime/clock.ts'
import type { Http2Session } from './session.ts'

/** Unanswered ones that are remembered; whoever asks more often without an answer has another way to find out. */
const maxWaiting = 16

type Callback = (error: Error | null, durationMs: number) => void

export class SessionPings {
  readonly #session: Http2Session
  readonly #clock: Clock
  readonly #waiting = new Map<number, { readonly sentMs: number; readonly callback: Callback }>()
  #lastNumber = 0

  constructor(session: Http2Session, clock: Clock) {
    this.#session = session
    this.#clock = clock
  }

  get destroyed(): boolean {
    return this.#session.isOver
  }

  ping(callback: Callback): void {
    if (this.#waiting.size >= maxWaiting) return
    this.#lastNumber += 1
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(this.#lastNumber, 4)
    this.#waiting.set(this.#lastNumber, { sentMs: this.#clock.monotonicMs(), callback })
    this.#session.ping(payload)
  }

  answered(payload: Buffer): void {
    const number = payload.readUInt32BE(4)
    const ping = this.#waiting.get(number)
    this.#waiting.delete(number)
    ping?.callback(null, this.#clock.monotonicMs() - ping.sentMs)
  }
}
