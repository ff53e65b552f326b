/**
 * The streams of a session that has ended, of which there may be thousands: each has a socket, timers and people who wait. They end
 * in turns, so that whoever has nothing to do with that session is served in between.
 */
import type { Clock } from '../runtime/clock.ts'
import { Turns } from '../runtime/turns.ts'

/** Streams that end at once; the others follow in the next turns of the event loop. */
export const STREAMS_ENDED_AT_ONCE = 64
/** Streams that end before it is looked at whether the turn is over. */
export const STREAMS_ENDED_PER_LOOK = 8

export class EndingStreams {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #ended = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `end` must not throw. */
  add(end: () => void): void {
    if (this.#ended < STREAMS_ENDED_AT_ONCE) {
      this.#ended += 1
      end()
      return
    }
    this.#waiting.push(end)
    if (this.#waiting.length === 1) void this.#endInTurns()
  }

  async #endInTurns(): Promise<void> {
    const turns = new Turns(this.#clock)
    for (let index = 0; index < this.#waiting.length; index++) {
      if (index % STREAMS_ENDED_PER_LOOK === 0) await turns.next()
      this.#waiting[index]?.()
    }
    this.#waiting.length = 0
  }
}
