/**
 * Binds a session to a carrier and a clock: what arrives goes in, what the session wants to say goes out in one write per
 * turn of the event loop, and only as fast as the carrier takes it.
 */

import type { Guard, SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Carrier } from './carrier.ts'
import { EndingStreams } from './ending-streams.ts'
import { ReceiveTurns } from './receive-turns.ts'
import { TunnelStream } from './tunnel-stream.ts'
import type { Budget } from './yamux/budget.ts'
import { SessionError } from './yamux/errors.ts'
import type { SessionLimits } from './yamux/limits.ts'
import { Session } from './yamux/session.ts'
import type { SessionCounters, SessionHandler } from './yamux/session-options.ts'
import type { Stream } from './yamux/stream.ts'

/** Payload gathered into one write: large enough to keep a link busy, small enough that a new stream soon has its turn. */
const WRITE_BATCH_BYTES = 256 * 1024

/** How long a carrier may take to send the farewell of a session that has ended. */
export const FAREWELL_MS = 2_000

export interface DriverHandler {
  /** The peer opened a stream. It counts as unanswered until it is accepted or written to. */
  onStream(stream: TunnelStream): void
  onGoAway?(): void
  onRoundTrip?(rttMs: number): void
  /** The session is over; the carrier is being closed. */
  onEnd(error: SessionError): void
}

export interface SessionDriverOptions {
  readonly role: 'client' | 'server'
  readonly carrier: Carrier
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  readonly handler: DriverHandler
  readonly limits?: Partial<SessionLimits>
}

export class SessionDriver implements SessionHandler {
  readonly #session: Session
  readonly #carrier: Carrier
  readonly #clock: Clock
  readonly #handler: DriverHandler
  readonly #net: SafetyNet
  readonly #ending: EndingStreams
  readonly #guard: Guard
  readonly #flushSoon = (): void => this.#guard(() => this.#flush())
  #mayWrite = true
  #isClosing = false
  #peerWentAway = false
  #cancelTimer: () => void = () => {}

  constructor({ role, carrier, clock, net, budget, handler, limits }: SessionDriverOptions) {
    this.#carrier = carrier
    this.#net = net
    // Its carrier's end is the session's, so that its streams and its owner hear of it.
    this.#guard = net.guard('session', () => carrier.destroy())
    this.#clock = clock
    this.#ending = new EndingStreams(clock)
    this.#handler = handler
    this.#session = new Session({ role, clock, budget, handler: this, limits })
    const turns = new ReceiveTurns(clock, carrier, (chunk, isTimeUp) => {
      let rest: Uint8Array | undefined
      this.#guard(() => {
        rest = this.#session.receive(chunk, isTimeUp)
      })
      return rest
    })
    carrier.start({
      onBytes: (chunk) => turns.take(chunk),
      onDrain: () => this.#guard(() => this.#onDrain()),
      onClose: (error) => this.#guard(() => this.#onCarrierClosed(error)),
    })
    this.#scheduleTick()
    this.onSendable()
  }

  get description(): string {
    return this.#carrier.description
  }

  get streamCount(): number {
    return this.#session.streamCount
  }

  get rttMs(): number | undefined {
    return this.#session.rttMs
  }

  /** What the way itself takes, without what queues on it. */
  get shortestRttMs(): number | undefined {
    return this.#session.shortestRttMs
  }

  /** Bytes held in memory for this session's streams. */
  get bufferedBytes(): number {
    return this.#session.account.bufferedBytes
  }

  get counters(): SessionCounters {
    return this.#session.counters
  }

  /** No new streams can be opened. */
  get isGoingAway(): boolean {
    return this.#session.isGoingAway
  }

  get error(): SessionError | undefined {
    return this.#session.error
  }

  /** Opens a stream. Throws a `StreamError` where the session takes no more. */
  open(): TunnelStream {
    return this.#streamOf(this.#session.open())
  }

  /** Asks the peer for a sign of life now, unless it was asked a moment ago. */
  probe(): void {
    this.#session.conditions()
  }

  /** Takes no new streams, lets the existing ones end, and ends the session; after `drainMs` whatever is left is reset. */
  goAway(drainMs: number): void {
    this.#session.goAway(drainMs)
    this.#scheduleTick()
  }

  /** Ends the session and all its streams now. */
  close(): void {
    this.#session.close()
  }

  onStream(stream: Stream): void {
    this.#handler.onStream(this.#streamOf(stream))
  }

  onSendable(): void {
    queueMicrotask(this.#flushSoon)
  }

  onGoAway(): void {
    this.#peerWentAway = true
    this.#handler.onGoAway?.()
  }

  onRoundTrip(rttMs: number): void {
    this.#handler.onRoundTrip?.(rttMs)
  }

  onEnd(error: SessionError): void {
    this.#cancelTimer()
    queueMicrotask(this.#flushSoon)
    this.#handler.onEnd(error)
  }

  /** What fails on it costs this stream, and not the session. */
  #streamOf(stream: Stream): TunnelStream {
    return this.#net.watch(new TunnelStream(stream, this.#ending, () => this.isGoingAway), 'stream')
  }

  #flush(): void {
    while (this.#mayWrite && this.#session.error === undefined) {
      const buffers = this.#session.take(WRITE_BATCH_BYTES)
      if (buffers.length === 0) return
      this.#mayWrite = this.#carrier.send(buffers)
    }
    if (this.#session.error !== undefined) this.#sayFarewell()
  }

  #onDrain(): void {
    this.#mayWrite = true
    this.#flush()
  }

  #sayFarewell(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const farewell = this.#session.take(0)
    if (farewell.length > 0) this.#carrier.send(farewell)
    this.#carrier.close()
    this.#cancelTimer = this.#clock.schedule(FAREWELL_MS, () => this.#carrier.destroy())
  }

  #onCarrierClosed(error: Error | undefined): void {
    this.#cancelTimer()
    this.#mayWrite = false
    this.#isClosing = true
    // After a go-away, with nothing under way, it is no loss but what was announced.
    if (this.#peerWentAway && error === undefined && !this.#session.hasOpenStreams)
      this.#session.close(new SessionError('closed', 'the peer has ended the session'))
    else this.#session.carrierLost(error)
  }

  #scheduleTick(): void {
    this.#cancelTimer()
    if (this.#session.error !== undefined) return
    const delayMs = Math.max(0, this.#session.dueMs - this.#clock.monotonicMs())
    this.#cancelTimer = this.#clock.schedule(delayMs, () =>
      this.#guard(() => {
        this.#session.tick()
        this.#scheduleTick()
      }),
    )
  }
}
