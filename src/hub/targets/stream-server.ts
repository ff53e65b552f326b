/**
 * Serves the streams that a node opens: the header names a target, the hub connects to it, answers, and joins the two. No byte
 * of the target goes out before the answer, and each direction ends by itself.
 */

import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type IncomingOpen, receiveOpen } from '../../tunnel/incoming.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { relay } from '../../tunnel/relay.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import type { Targets } from './targets.ts'

/** One line about denied targets of a node in this time: a node that asks without end must not fill the log. */
export const DENIAL_LOG_INTERVAL_MS = 10_000

/** Whose streams they are. */
export interface StreamOwner {
  /** As the certificate of its session proved it. */
  readonly node: string
  /** Counts a stream that was opened; says what speaks against it, if anything does. */
  countOpen(): string | undefined
}

/** When one was last logged, and how many have not been since. */
interface Denials {
  readonly loggedMs: number
  unlogged: number
}

export interface StreamServerOptions {
  readonly targets: Pick<Targets, 'connect' | 'denial'>
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
}

export class StreamServer {
  readonly #options: StreamServerOptions
  readonly #denials = new WeakMap<StreamOwner, Denials>()

  constructor(options: StreamServerOptions) {
    this.#options = options
  }

  serve(stream: TunnelStream, owner: StreamOwner): void {
    const { clock, net, targets } = this.#options
    receiveOpen(stream, clock, (open) => {
      const overload = owner.countOpen()
      if (overload !== undefined) return open.refuse('overloaded', overload)
      const denial = targets.denial(owner.node, open.header.target)
      if (denial !== undefined) return this.#deny(open, owner, denial)
      net.guard('stream', () => void stream.destroy())(() => this.#answer(open, owner))
    })
  }

  async #answer(open: IncomingOpen, owner: StreamOwner): Promise<void> {
    const { node } = owner
    const { target, deadlineMs } = open.header
    const gone = new AbortController()
    open.onGone(() => gone.abort(new Error('the opener has gone')))
    try {
      const socket = await this.#options.targets.connect({ node, target, deadlineMs, signal: gone.signal })
      if (open.isGone) socket.destroy()
      else await relay(open.accept(), socket)
    } catch (error) {
      if (!open.isGone) this.#refuse(open, owner, error)
    }
  }

  #refuse(open: IncomingOpen, owner: StreamOwner, error: unknown): void {
    if (error instanceof OpenError) {
      if (error.code === 'denied') this.#deny(open, owner, error.message)
      else open.refuse(error.code, error.message)
      return
    }
    this.#options.logger.error({ err: error, node: owner.node }, 'a stream could not be served')
    open.refuse('refused', 'the hub failed; its log says why')
  }

  #deny(open: IncomingOpen, owner: StreamOwner, text: string): void {
    this.#logDenial(open, owner)
    open.refuse('denied', text)
  }

  #logDenial({ header: { target, source } }: IncomingOpen, owner: StreamOwner): void {
    const { clock, logger } = this.#options
    const nowMs = clock.monotonicMs()
    const before = this.#denials.get(owner)
    if (before !== undefined && nowMs - before.loggedMs < DENIAL_LOG_INTERVAL_MS) {
      before.unlogged += 1
      return
    }
    this.#denials.set(owner, { loggedMs: nowMs, unlogged: 0 })
    const andOthers = before?.unlogged ?? 0
    logger.warn({ node: owner.node, target, claimedSource: source, andOthers }, 'target denied')
  }
}
