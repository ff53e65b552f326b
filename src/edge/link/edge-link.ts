/** The link to one hub: `link-core.ts` says what to do, this file does it. */
import type { Logger } from '../../telemetry/logger.ts'
import type { SessionDriver } from '../../tunnel/session-driver.ts'
import type { SessionError } from '../../tunnel/yamux/errors.ts'
import {
  beginLink,
  isOpen,
  type LinkFailure,
  type LinkInput,
  type LinkOutput,
  type LinkPhase,
  type LinkState,
  phaseOf,
  step,
} from './link-core.ts'
import { linkFailureOf } from './link-failure.ts'
import type { LinkMetrics } from './link-metrics.ts'
import { attemptSession, type SessionAttemptOptions, type SessionEvents } from './session-attempt.ts'

/** For everything up to the hub's first answer: every carrier in turn, through a slow proxy. */
export const SESSION_ATTEMPT_LIMIT_MS = 60_000
/** How long a session that was replaced may serve the streams it has: a long `kubectl logs -f`, but not for ever. */
const HAND_OVER_DRAIN_MS = 60 * 60 * 1000
/** Between the first answer on a new session and the farewell on the old one: streams under way to the old one arrive. */
export const HAND_OVER_GRACE_MS = 1_000
/** What lay in the kernel while we slept arrives within this time, and proves nothing. */
export const STALE_BYTES_MS = 1_000
/** A hub that lives answers a ping within this time, over the slowest link too. */
export const PROOF_OF_LIFE_MS = 5_000

export interface EdgeLinkOptions extends SessionAttemptOptions {
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: LinkMetrics
  /** Streams can be opened that could not be before, or the other way round; or the hub turns us away, or no more. */
  readonly onChange: () => void
}

export interface LinkStatus {
  readonly hub: string
  readonly state: LinkPhase
  /** Since when streams can be opened, or cannot. */
  readonly since: string
  /** The carrier of the session that serves. */
  readonly carrier: string | undefined
  readonly rttMs: number | undefined
  readonly streams: number
  readonly sessions: number
  /** What went wrong last, which may be long ago. */
  readonly lastError: string | undefined
  readonly lastErrorAt: string | undefined
  readonly nextAttempt: string | undefined
}

const abandoned = new Error('a newer attempt took the place of this one')

export class EdgeLink {
  readonly #options: EdgeLinkOptions
  readonly #sessions = new Map<number, SessionDriver>()
  readonly #attempts = new Map<number, AbortController>()
  readonly #ended = { receivedBytes: 0, sentBytes: 0 }
  #state: LinkState
  #cancelTimer = (): void => {}
  #onAttemptEnded: (() => void)[] = []
  #onEmpty: (() => void) | undefined

  constructor(options: EdgeLinkOptions) {
    this.#options = options
    this.#state = beginLink(options.clock.monotonicMs())
  }

  get hub(): string {
    return this.#options.hub.origin
  }

  get phase(): LinkPhase {
    return phaseOf(this.#state)
  }

  /** The session on which streams can be opened. */
  get open(): SessionDriver | undefined {
    return isOpen(this.#state) ? this.#serving : undefined
  }

  /** Since when streams can be opened, or cannot, on the monotonic clock. */
  get changedMs(): number {
    return this.#state.changedMs
  }

  get lastFailure(): LinkFailure | undefined {
    return this.#state.failure
  }

  /** The hub turns this edge away for good. */
  get isRefused(): boolean {
    return this.#state.isRefused
  }

  get sessions(): readonly SessionDriver[] {
    return [...this.#sessions.values()]
  }

  /** Bytes of all sessions there were. */
  get traffic(): { receivedBytes: number; sentBytes: number } {
    const total = { ...this.#ended }
    for (const { counters } of this.#sessions.values()) {
      total.receivedBytes += counters.receivedBytes
      total.sentBytes += counters.sentBytes
    }
    return total
  }

  get status(): LinkStatus {
    const { changedMs, attemptAtMs, failure, failedMs } = this.#state
    return {
      hub: this.hub,
      state: this.phase,
      since: this.#wallTime(changedMs),
      carrier: this.#serving?.description,
      rttMs: toHundredths(this.#serving?.rttMs),
      streams: this.sessions.reduce((sum, { streamCount }) => sum + streamCount, 0),
      sessions: this.#sessions.size,
      lastError: failure?.message,
      lastErrorAt: this.#wallTime(failedMs),
      nextAttempt: this.#wallTime(attemptAtMs),
    }
  }

  start(): void {
    this.#feed({ type: 'tick' })
  }

  /** Wants a new session in place of the present one; resolves when the attempt has ended, well or not. */
  replace(type: 'rotated' | 'address-changed'): Promise<void> {
    if (this.#state.isStopping) return Promise.resolve()
    return new Promise((resolve) => {
      this.#feed({ type })
      this.#onAttemptEnded.push(resolve)
    })
  }

  resumed(): void {
    this.#feed({ type: 'resumed' })
  }

  /** Resolves when no session is left. When `deadline` aborts, they are closed with what they carry. */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#feed({ type: 'stop' })
    this.#tellAttemptEnded()
    const drop = (): void => {
      for (const session of this.sessions) session.close()
    }
    for (const session of this.sessions) session.goAway(HAND_OVER_DRAIN_MS)
    if (this.#sessions.size === 0) return
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    if (deadline.aborted) drop()
    else deadline.addEventListener('abort', drop, { once: true })
    await empty
    deadline.removeEventListener('abort', drop)
  }

  get #serving(): SessionDriver | undefined {
    const { serving } = this.#state
    return serving === undefined ? undefined : this.#sessions.get(serving.id)
  }

  #feed(input: LinkInput): void {
    const { clock, random, onChange } = this.#options
    const before = this.#state
    const { state, outputs } = step(before, input, { nowMs: clock.monotonicMs(), random })
    this.#state = state
    for (const output of outputs) this.#perform(output)
    this.#scheduleAttempt()
    if (isOpen(before) !== isOpen(state) || before.isRefused !== state.isRefused) onChange()
  }

  #scheduleAttempt(): void {
    this.#cancelTimer()
    const { attemptAtMs } = this.#state
    if (attemptAtMs === undefined) return
    const { clock } = this.#options
    const delayMs = Math.max(0, attemptAtMs - clock.monotonicMs())
    this.#cancelTimer = clock.schedule(delayMs, () => this.#feed({ type: 'tick' }))
  }

  #perform(output: LinkOutput): void {
    switch (output.type) {
      case 'dial':
        this.#options.net.guard('session', () => {})(() => this.#attempt(output.attempt))
        return
      case 'abandon':
        this.#attempts.get(output.attempt)?.abort(abandoned)
        return
      case 'drain':
        this.#drain(output.session)
        return
      case 'close':
        this.#sessions.get(output.session)?.close()
        return
      case 'probe':
        this.#probe(output.session)
    }
  }

  #drain(session: number): void {
    const driver = this.#sessions.get(session)
    const goAway = (): void => driver?.goAway(HAND_OVER_DRAIN_MS)
    if (this.#state.isStopping) goAway()
    else this.#options.clock.schedule(HAND_OVER_GRACE_MS, goAway)
  }

  #probe(session: number): void {
    const { clock } = this.#options
    const driver = this.#sessions.get(session)
    if (driver === undefined) return
    clock.schedule(STALE_BYTES_MS, () => {
      const { receivedBytes } = driver.counters
      driver.probe()
      clock.schedule(PROOF_OF_LIFE_MS, () => {
        if (driver.counters.receivedBytes === receivedBytes) this.#feed({ type: 'silent', session })
      })
    })
  }

  async #attempt(attempt: number): Promise<void> {
    const controller = new AbortController()
    const { signal } = controller
    this.#attempts.set(attempt, controller)
    const cancelLimit = this.#options.clock.schedule(SESSION_ATTEMPT_LIMIT_MS, () =>
      controller.abort(new Error(`${this.hub}: no session within ${SESSION_ATTEMPT_LIMIT_MS / 1000} s`)),
    )
    try {
      this.#attemptSucceeded(attempt, await attemptSession(this.#options, this.#eventsOf(attempt), signal))
    } catch (error) {
      if (signal.reason !== abandoned) this.#attemptFailed(attempt, error)
    } finally {
      cancelLimit()
      this.#attempts.delete(attempt)
      // Whoever waits does so for the attempt that took the place of an abandoned one.
      if (signal.reason !== abandoned) this.#tellAttemptEnded()
    }
  }

  #eventsOf(session: number): SessionEvents {
    return {
      began: (driver) => void this.#sessions.set(session, driver),
      wentAway: () => this.#feed({ type: 'go-away', session }),
      ended: (driver, error) => this.#sessionEnded(session, driver, error),
    }
  }

  #attemptSucceeded(attempt: number, driver: SessionDriver): void {
    // The hub may have answered and ended the session in one breath.
    if (driver.error !== undefined) throw driver.error
    const { logger, metrics } = this.#options
    const { description: carrier, rttMs = 0 } = driver
    logger.info({ hub: this.hub, carrier, rttMs: Math.round(rttMs), session: attempt }, 'session up')
    metrics.attempt('ok')
    this.#feed({ type: 'dialled', attempt })
    // A hub that stops may have said so before it answered.
    if (driver.isGoingAway) this.#feed({ type: 'go-away', session: attempt })
  }

  #attemptFailed(attempt: number, error: unknown): void {
    const { logger, metrics, clock } = this.#options
    const failure = linkFailureOf(error)
    metrics.attempt(failure.isFinal ? 'refused' : 'failed')
    this.#feed({ type: 'failed', attempt, failure })
    const retryInMs = Math.round((this.#state.attemptAtMs ?? clock.monotonicMs()) - clock.monotonicMs())
    logger.warn({ hub: this.hub, code: failure.code, why: failure.message, retryInMs }, 'no session with the hub')
  }

  #tellAttemptEnded(): void {
    for (const resolve of this.#onAttemptEnded.splice(0)) resolve()
  }

  #sessionEnded(session: number, driver: SessionDriver, error: SessionError): void {
    const { logger, metrics } = this.#options
    this.#sessions.delete(session)
    this.#ended.receivedBytes += driver.counters.receivedBytes
    this.#ended.sentBytes += driver.counters.sentBytes
    metrics.ended(error.code)
    // What ends before the hub has answered is a failed attempt, and told as such.
    if (!this.#attempts.has(session)) {
      const fields = { hub: this.hub, code: error.code, why: error.message, carrier: driver.description }
      if (error.code === 'closed') logger.info(fields, 'session ended')
      else logger.warn(fields, 'session lost')
      this.#feed({ type: 'ended', session, failure: linkFailureOf(error) })
    }
    if (this.#sessions.size === 0) this.#onEmpty?.()
  }

  #wallTime(monotonicMs: number): string
  #wallTime(monotonicMs: number | undefined): string | undefined
  #wallTime(monotonicMs: number | undefined): string | undefined {
    if (monotonicMs === undefined) return undefined
    const { clock } = this.#options
    return new Date(clock.nowMs() - clock.monotonicMs() + monotonicMs).toISOString()
  }
}

/** More digits than anybody measures are noise to a reader. */
function toHundredths(durationMs: number | undefined): number | undefined {
  return durationMs === undefined ? undefined : Math.round(durationMs * 100) / 100
}
