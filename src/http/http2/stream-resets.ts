/**
 * Streams that are broken off: which of them we have broken off ourselves, what the peer may therefore still send, and how
 * often it may make us do so.
 */

import { BoundedMap } from '../../runtime/bounded-map.ts'
import { resetFrame } from './control-frames.ts'
import { type FrameBudget, lateResetBudget, streamResetBudget } from './frame-budget.ts'
import type { Transport } from './send-scheduler.ts'

/**
 * Streams of a connection that the peer may still send on, since it has not heard yet that they are over. One of them that is
 * forgotten too early is reset once more, which does no harm.
 */
export const MAX_REMEMBERED_RESETS = 1_000

export class StreamResets {
  readonly #transport: Transport
  readonly #wasted: FrameBudget | undefined
  readonly #late: FrameBudget | undefined
  /** Streams that were reset here. */
  readonly #remembered = new BoundedMap<number, true>(MAX_REMEMBERED_RESETS)

  /** Servers count what each costs them; to a client resets are answers to what it has asked. */
  constructor(transport: Transport, isServer: boolean, nowMs: () => number) {
    this.#transport = transport
    if (!isServer) return
    this.#wasted = streamResetBudget(nowMs)
    this.#late = lateResetBudget(nowMs)
  }

  send(streamId: number, code: number): void {
    this.#transport.send(resetFrame(streamId, code))
    this.remember(streamId)
  }

  /** What comes for it was under way, and is of no interest. */
  remember(streamId: number): void {
    this.#remembered.set(streamId, true)
  }

  /** For what the peer has done wrong. Throws an `Http2Error` where that was once too often, as all below. */
  refuse(streamId: number, code: number): void {
    this.spend()
    this.send(streamId, code)
  }

  /** For a frame on a stream that is over. Those that we have not broken off the peer has ended itself, and knows. */
  refuseLate(streamId: number, code: number): void {
    if (!this.#remembered.has(streamId)) this.refuse(streamId, code)
  }

  /** The peer has reset one: of those that it was answered on it may, without an error. */
  received(isAnswered: boolean): void {
    if (isAnswered) this.#late?.spend()
    else this.spend()
  }

  /** A stream has cost us work for nothing. */
  spend(): void {
    this.#wasted?.spend()
  }
}
