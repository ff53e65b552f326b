/**
 * All links of an edge, one for each address of a hub, as one part of the process, and the one place where streams towards the
 * cloud are opened. While no link is up an open fails at once, with the reason; only a link that was lost a moment ago is
 * waited for.
 */
import type { Registry } from 'prom-client'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { type OutgoingOpen, openTarget } from '../../tunnel/outgoing.ts'
import type { OpenHeader } from '../../tunnel/prelude/open-header.ts'
import type { SessionDriver } from '../../tunnel/session-driver.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import { Budget } from '../../tunnel/yamux/budget.ts'
import { EdgeLink, type LinkStatus } from './edge-link.ts'
import { createLinkMetrics, type LinkMetrics, type LinkNumbers } from './link-metrics.ts'
import { ResumeDetector } from './resume-detector.ts'
import type { AskWhy, DialSession } from './session-attempt.ts'

/** A link that is back within this time costs an open nothing but the wait; a client takes longer for a hang. */
export const OPEN_WAIT_MS = 5_000
/** Opens that may wait for a link together; each holds a connection of a client. */
export const MAX_WAITING_OPENS = 256
/** How often it is looked whether the machine slept, or has got another address. */
export const SURROUNDINGS_CHECK_MS = 5_000

export interface EdgeLinksOptions {
  readonly hubs: readonly URL[]
  readonly dial: DialSession
  readonly askWhy?: AskWhy | undefined
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
  /** Takes the streams that hubs open. */
  readonly serve: (stream: TunnelStream) => void
  /** Our address towards that hub; a change makes new sessions. */
  readonly sourceAddress?: (hub: URL) => Promise<string | undefined>
}

/** Refusals that say the cluster does not know this node any more, or has given its name to another. */
const disowningCodes: ReadonlySet<string> = new Set<HubRefusalCode>([
  'certificate-revoked',
  'certificate-invalid',
  'node-mismatch',
])

interface Waiting {
  readonly wake: () => void
}

export class EdgeLinks implements Part {
  readonly name = 'links'
  readonly #options: EdgeLinksOptions
  readonly #logger: Logger
  readonly #metrics: LinkMetrics
  readonly #links: readonly EdgeLink[]
  readonly #waiting = new Set<Waiting>()
  readonly #listeners = new Set<() => void>()
  readonly #sources = new Map<URL, string>()

  constructor(options: EdgeLinksOptions) {
    const { hubs, registry, serve, dial, askWhy, clock, net, random } = options
    this.#options = options
    this.#logger = componentLogger(options.logger, 'edge/link')
    this.#metrics = createLinkMetrics(registry, () => this.#numbers())
    const shared = { dial, askWhy, clock, net, random, serve, budget: new Budget(), logger: this.#logger }
    const onChange = (): void => this.#changed()
    this.#links = hubs.map((hub) => new EdgeLink({ ...shared, hub, metrics: this.#metrics, onChange }))
  }

  /** Whether streams can be opened at the moment. */
  get isUp(): boolean {
    return this.#openSessions().length > 0
  }

  /**
   * What a hub said that does not take this node for who it is any more, while no hub does. An expired certificate, or a hub of
   * another cluster, is none: that one is renewed, and this one is a wrong address.
   */
  get refusal(): string | undefined {
    if (this.isUp) return undefined
    const refused = this.#links.filter(({ isRefused }) => isRefused).map(({ lastFailure }) => lastFailure)
    return refused.find((failure) => failure !== undefined && disowningCodes.has(failure.code))?.message
  }

  /** Since when and why no stream can be opened. */
  get whyDown(): string {
    return this.#noRoute().message
  }

  /** Called whenever one of these may have changed. Returns what ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get status(): readonly LinkStatus[] {
    return this.#links.map(({ status }) => status)
  }

  /** Round trip of the session that the next stream is opened on; `undefined` while there is none, or it is not measured yet. */
  get rttMs(): number | undefined {
    return this.#openSessions()[0]?.rttMs
  }

  /** Round trip of that session at its shortest, without what queues on the way at the moment. */
  get shortestRttMs(): number | undefined {
    return this.#openSessions()[0]?.shortestRttMs
  }

  /** Whether a hub turns this edge away for good. A link that is down is no illness: an edge works without one. */
  health(): Health {
    const refused = this.#links.filter(({ isRefused }) => isRefused)
    if (refused.length === 0) return HEALTHY
    return unhealthy(refused.map(({ hub, lastFailure }) => `${hub}: ${lastFailure?.message}`).join('; '))
  }

  /** Resolves at once: an edge starts without a hub. */
  async start(): Promise<RunningPart> {
    for (const link of this.#links) link.start()
    const stopWatching = this.#watchSurroundings()
    return {
      stop: async (deadline) => {
        stopWatching()
        await Promise.all(this.#links.map(async (link) => await link.stop(deadline)))
        this.#wakeWaiting()
      },
    }
  }

  /** Moves to sessions under the present certificate. Resolves when every hub has been tried. */
  async rotated(): Promise<void> {
    await Promise.all(this.#links.map(async (link) => await link.replace('rotated')))
  }

  /**
   * Opens a stream on the nearest session. Rejects with an `OpenError`: `no-route` says since when and why there is no link.
   * What the far end answers is in `answered`.
   */
  async open(header: OpenHeader, signal?: AbortSignal): Promise<OutgoingOpen> {
    try {
      if (this.#openSessions().length === 0) await this.#awaitLink(signal)
      const opened = this.#openOnBest(header)
      opened.answered.then(
        () => this.#metrics.opened('ok'),
        (error: unknown) => this.#countFailure(error),
      )
      return opened
    } catch (error) {
      this.#countFailure(error)
      throw error
    }
  }

  #countFailure(error: unknown): void {
    this.#metrics.opened(error instanceof OpenError ? error.code : 'cancelled')
  }

  #openSessions(): SessionDriver[] {
    const open = this.#links.map((link) => link.open).filter((driver) => driver !== undefined)
    const distance = ({ rttMs = Number.POSITIVE_INFINITY }: SessionDriver): number => rttMs
    return open.filter((driver) => !driver.isGoingAway).sort((a, b) => distance(a) - distance(b))
  }

  #openOnBest(header: OpenHeader): OutgoingOpen {
    let refusal: unknown
    for (const driver of this.#openSessions()) {
      try {
        return openTarget(driver, header, this.#options.clock)
      } catch (error) {
        // A session that is full, or ended this very moment, says nothing about the next one.
        if (!(error instanceof OpenError)) throw error
        refusal ??= error
      }
    }
    throw refusal ?? this.#noRoute()
  }

  async #awaitLink(signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    const hopeful = this.#links.filter(({ isRefused }) => !isRefused)
    const patienceMs = Math.max(0, ...hopeful.map(({ changedMs }) => changedMs + OPEN_WAIT_MS - nowMs))
    if (patienceMs === 0) throw this.#noRoute()
    if (this.#waiting.size >= MAX_WAITING_OPENS)
      throw new OpenError('overloaded', `${MAX_WAITING_OPENS} opens already wait for a link`)
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const finish = (settle: () => void): void => {
        this.#waiting.delete(waiting)
        cancelTimer()
        signal?.removeEventListener('abort', onAbort)
        settle()
      }
      const onAbort = (): void => finish(() => reject(signal?.reason as Error))
      const waiting = { wake: () => finish(resolve) }
      const cancelTimer = clock.schedule(patienceMs, waiting.wake)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(waiting)
    })
  }

  #changed(): void {
    this.#wakeWaiting()
    const guard = this.#options.net.guard('session', () => {})
    for (const listener of [...this.#listeners]) guard(listener)
  }

  #wakeWaiting(): void {
    for (const { wake } of [...this.#waiting]) wake()
  }

  #noRoute(): OpenError {
    const whys = this.status.map(({ hub, since, lastError }) => {
      return `${hub} has no session since ${since}: ${lastError ?? 'it has not answered yet'}`
    })
    return new OpenError('no-route', whys.length === 0 ? 'no hub is named' : whys.join('; '))
  }

  #watchSurroundings(): () => void {
    const { clock, sourceAddress } = this.#options
    const detector = new ResumeDetector(clock.nowMs(), clock.monotonicMs())
    const guard = this.#options.net.guard('timer', () => {})
    let cancel = (): void => {}
    const look = (): void => {
      cancel = clock.schedule(SURROUNDINGS_CHECK_MS, look)
      if (detector.observe(clock.nowMs(), clock.monotonicMs(), SURROUNDINGS_CHECK_MS)) this.#resumed()
      if (sourceAddress !== undefined) guard(() => this.#compareSources(sourceAddress))
    }
    look()
    return () => cancel()
  }

  #resumed(): void {
    this.#logger.info('time has passed unseen; asking every hub for a sign of life')
    for (const link of this.#links) link.resumed()
  }

  async #compareSources(sourceAddress: (hub: URL) => Promise<string | undefined>): Promise<void> {
    for (const [index, hub] of this.#options.hubs.entries()) {
      const address = await sourceAddress(hub).catch(() => undefined)
      const before = this.#sources.get(hub)
      if (address === undefined || address === before) continue
      this.#sources.set(hub, address)
      if (before === undefined) continue
      this.#logger.info({ hub: hub.origin, before, address }, 'our address has changed; moving to a new session')
      this.#options.net.guard('session', () => {})(() => this.#links[index]?.replace('address-changed'))
    }
  }

  #numbers(): LinkNumbers {
    const sessions = this.#links.flatMap((link) => link.sessions)
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
    return {
      phases: this.#links.map(({ phase }) => phase),
      sessions: sessions.length,
      streams: sum(sessions.map(({ streamCount }) => streamCount)),
      bufferedBytes: sum(sessions.map(({ bufferedBytes }) => bufferedBytes)),
      receivedBytes: sum(this.#links.map(({ traffic }) => traffic.receivedBytes)),
      sentBytes: sum(this.#links.map(({ traffic }) => traffic.sentBytes)),
      rttMs: this.rttMs,
    }
  }
}
