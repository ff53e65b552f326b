/**
 * The edge as an agent of stock konnectivity servers, which stand behind one name. It connects again and again until it has met
 * as many servers as they say there are, and serves what each dials.
 */

import type { Duplex } from 'node:stream'
import type { ListenAddress } from '../../network/listen.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import { Backoff, type BackoffSteps } from '../../runtime/backoff.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import { openErrorFrom } from '../../tunnel/open-error.ts'
import type { KonnectivityMetrics } from './metrics.ts'
import { greetServer, type ServerLink, type ServerLinkOptions } from './server-link.ts'
import type { ServerTls } from './server-socket.ts'

/** Stock agents give a destination as long to connect, and servers count on it. */
const AGENT_DIAL_TIMEOUT_MS = 5_000
/** Links to servers, those that are about to go included: far more than a control plane has. Whatever they say, there are no more. */
export const MAX_KONNECTIVITY_SERVERS = 64
/** Lines in the log about dials that failed, per second: servers dial what users ask for. */
const FAILED_DIALS_LOGGED_PER_SECOND = 1
/** How many lines about failed dials may follow one another at once. */
const FAILED_DIALS_LOG_BURST = 20
/** How often an idle link is looked at while the edge stops. */
const DRAIN_POLL_MS = 100

/** Between attempts that worked, and after the first that did not: as stock agents do, so that a server meets nothing new. */
const SYNC_INTERVAL_MS = 1_000
/** Never longer than this, so that a server that comes back is found soon. */
const SYNC_INTERVAL_CAP_MS = 10_000

/** Half as long again each time, and a tenth left to chance, so that the agents of a site do not come all at once. */
const AGENT_BACKOFF: BackoffSteps = {
  firstMs: SYNC_INTERVAL_MS,
  maxMs: SYNC_INTERVAL_CAP_MS,
  factor: 1.5,
  shares: [1, 1.1],
}

export interface KonnectivityAgentOptions
  extends Pick<ServerLinkOptions, 'clock' | 'net' | 'budget' | 'logger' | 'agentId'> {
  readonly server: ListenAddress
  /** Asked for each connection, so that new certificates are used from then on. */
  readonly tls: () => ServerTls
  readonly identifiers: string
  readonly metrics: KonnectivityMetrics
  /** Reaches a destination by the policy of the edge (`host:port`, not checked). Rejects with an `OpenError`. */
  readonly dial: (
    address: string,
    options: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ) => Promise<Duplex>
  /** Between attempts; other than stock agents have, for tests. */
  readonly backoff?: BackoffSteps
  /** Draws from [0, 1). */
  readonly random: () => number
}

export class KonnectivityAgent implements Part {
  readonly name = 'konnectivity agent'
  readonly #options: KonnectivityAgentOptions
  readonly #steps: BackoffSteps
  readonly #backoff: Backoff
  /** By the name of the server. */
  readonly #links = new Map<string, ServerLink>()
  /** Links whose server is about to go; they carry on what they have. */
  readonly #leaving = new Set<ServerLink>()
  readonly #failedDials: LineLimit
  #knownServers = 0
  #isDraining = false

  constructor(options: KonnectivityAgentOptions) {
    this.#options = options
    this.#steps = options.backoff ?? AGENT_BACKOFF
    this.#backoff = new Backoff(options.random, this.#steps)
    this.#failedDials = new LineLimit(options.clock, FAILED_DIALS_LOGGED_PER_SECOND, FAILED_DIALS_LOG_BURST)
  }

  get connectedServers(): number {
    return this.#links.size
  }

  get streamCount(): number {
    return this.#open.reduce((sum, { streamCount }) => sum + streamCount, 0)
  }

  /** Resolves at once: servers may be away when the edge starts. */
  async start(signal: AbortSignal): Promise<RunningPart> {
    signal.throwIfAborted()
    const stopping = new AbortController()
    const ended = this.#run(stopping.signal)
    return {
      stop: async (deadline) => {
        this.drain()
        await this.#idle(deadline)
        stopping.abort(new Error('the edge is stopping'))
        await ended
        for (const link of this.#open) link.close()
      },
    }
  }

  /** Asks the servers for no new work, and connects to no more of them. */
  drain(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    for (const link of this.#open) link.drain()
  }

  get #open(): ServerLink[] {
    return [...this.#links.values(), ...this.#leaving]
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics, server } = this.#options
    while (!signal.aborted) {
      let delayMs: number
      try {
        if (!this.#isDraining && !this.#isComplete) await this.#connectOnce(signal)
        this.#backoff.reset()
        delayMs = this.#steps.firstMs
      } catch (error) {
        if (signal.aborted) return
        delayMs = this.#backoff.next(clock.monotonicMs())
        metrics.connects.inc({ result: 'failed' })
        logger.warn({ server, err: error, retryInMs: delayMs }, 'cannot connect to a konnectivity server')
      }
      await clock.sleep(delayMs, signal).catch(() => {})
    }
  }

  get #isComplete(): boolean {
    if (this.#links.size + this.#leaving.size >= MAX_KONNECTIVITY_SERVERS) return true
    return this.#knownServers > 0 && this.#links.size >= this.#knownServers
  }

  async #connectOnce(signal: AbortSignal): Promise<void> {
    const { metrics, logger, tls } = this.#options
    const options: ServerLinkOptions = {
      ...this.#options,
      tls: tls(),
      answer: (address, aborted) => this.#answer(address, aborted),
      onStalled: () => metrics.stalledReaders.inc(),
    }
    const greeted = await greetServer(options, signal)
    if (this.#links.has(greeted.serverId)) {
      greeted.dismiss()
      metrics.connects.inc({ result: 'duplicate' })
      return
    }
    const { serverId } = greeted
    const link: ServerLink = greeted.serve(options, {
      leaving: () => this.#onLeaving(link),
      closed: (error) => this.#onClosed(link, error),
    })
    this.#links.set(serverId, link)
    this.#knownServers = greeted.serverCount
    metrics.connects.inc({ result: 'ok' })
    this.#updateGauges()
    logger.info({ serverId, servers: greeted.serverCount }, 'connected to a konnectivity server')
  }

  async #answer(address: string, aborted: AbortSignal): Promise<Duplex> {
    const { metrics, logger, dial } = this.#options
    try {
      const target = await dial(address, { deadlineMs: AGENT_DIAL_TIMEOUT_MS, signal: aborted })
      metrics.dials.inc({ code: 'ok' })
      return target
    } catch (error) {
      const failure = openErrorFrom(error)
      metrics.dials.inc({ code: failure.code })
      const told = this.#failedDials.admit()
      if (told !== undefined)
        logger.info({ address, code: failure.code, reason: failure.message, ...told }, 'destination not connected')
      throw failure
    }
  }

  /** The server of a link is about to go: another, or the same one again, is looked for at once. */
  #onLeaving(link: ServerLink): void {
    if (this.#links.get(link.serverId) !== link) return
    this.#links.delete(link.serverId)
    this.#leaving.add(link)
    this.#updateGauges()
  }

  #onClosed(link: ServerLink, error: Error | undefined): void {
    this.#leaving.delete(link)
    if (this.#links.get(link.serverId) === link) this.#links.delete(link.serverId)
    this.#updateGauges()
    const { serverId } = link
    this.#options.logger.info({ serverId, err: error }, 'konnectivity server gone')
  }

  #updateGauges(): void {
    this.#options.metrics.servers.set(this.#links.size)
    this.#options.metrics.knownServers.set(this.#knownServers)
  }

  async #idle(deadline: AbortSignal): Promise<void> {
    while (this.streamCount > 0 && !deadline.aborted)
      await this.#options.clock.sleep(DRAIN_POLL_MS, deadline).catch(() => {})
  }
}
