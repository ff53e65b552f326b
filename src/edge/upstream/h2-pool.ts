/** The connections that carry one credential: opens them as `pool-core.ts` says, and gives each request one of them. */

import type { ClientPair } from '../../network/tls/client-tls.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type ApiServer, connectToApiServer } from './api-server-connection.ts'
import { H2Connection } from './h2-connection.ts'
import type { StreamOutcome } from './h2-stream.ts'
import { PoolCore, type PoolLimits } from './pool-core.ts'
import { RetriableBody } from './retriable-body.ts'
import { type PoolName, type PoolStatus, type UpstreamAnswer, UpstreamError, type UpstreamRequest } from './upstream.ts'
import { ImpostorError } from './upstream-error.ts'
import type { UpstreamMetrics } from './upstream-metrics.ts'
import { WaitingRequests } from './waiting-requests.ts'

/** How often idle connections are ended and windows are fitted. */
export const POOL_REVIEW_MS = 15_000
/** After a failed attempt further requests are told the same for as long, so that a crowd of them makes no storm. */
export const FAILED_OPEN_PAUSE_MS = 500

export interface H2PoolOptions {
  readonly name: PoolName
  readonly server: ApiServer
  /** Absent for pools whose connections carry no credential. Throws an `UpstreamError` where there is none yet. */
  readonly pair?: (() => ClientPair) | undefined
  readonly rttMs: () => number | undefined
  readonly metrics: UpstreamMetrics
  readonly logger: Logger
  readonly net: SafetyNet
  readonly limits?: (Partial<PoolLimits> & { readonly maxWaiting?: number }) | undefined
}

export class H2Pool {
  readonly #options: H2PoolOptions
  readonly #clock: Clock
  readonly #core: PoolCore
  readonly #connections = new Map<number, H2Connection>()
  readonly #openings = new Map<number, AbortController>()
  readonly #waiting: WaitingRequests<H2Connection>
  #pair: ClientPair | undefined
  #failure: { readonly error: UpstreamError; readonly untilMs: number } | undefined
  #cancelReview: (() => void) | undefined
  #isClosed = false

  constructor(options: H2PoolOptions) {
    const { name, server, limits = {} } = options
    this.#options = options
    this.#clock = server.clock
    this.#core = new PoolCore(limits)
    this.#waiting = new WaitingRequests({ pool: name, clock: server.clock, maxWaiting: limits.maxWaiting })
  }

  get status(): PoolStatus {
    const { connections, streams } = this.#core
    const lastError = this.#failure?.error.message
    return { pool: this.#options.name, connections, streams, waiting: this.#waiting.size, lastError }
  }

  /** The smallest receive window of a stream; absent where there is no connection. */
  get windowBytes(): number | undefined {
    const windows = [...this.#connections.values()].map(({ windowBytes }) => windowBytes)
    return windows.length === 0 ? undefined : Math.min(...windows)
  }

  /** Rejects with an `UpstreamError`, or with the reason of the request's signal. */
  async request(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const body = request.body === undefined ? undefined : new RetriableBody(request.body)
    let outcome = await this.#attempt(request, body)
    if ('failure' in outcome && outcome.mayRetry) {
      this.#options.metrics.retried(this.#options.name)
      outcome = await this.#attempt(request, body)
    }
    if ('failure' in outcome) throw outcome.failure
    return outcome
  }

  /** Lets connections run out that are carried by what is to end itself, where there is another way. */
  leaveOldWays(): void {
    for (const [id, connection] of this.#connections) if (connection.isLeaving) this.#core.drain(id)
    this.#endExpired()
  }

  /** Cuts everything. */
  close(): void {
    this.#isClosed = true
    this.#cancelReview?.()
    this.#waiting.refuseAll(stopping())
    for (const opening of this.#openings.values()) opening.abort(stopping())
    for (const connection of this.#connections.values()) connection.end(stopping())
  }

  async #attempt(request: UpstreamRequest, body: RetriableBody | undefined): Promise<StreamOutcome> {
    if (this.#isClosed) throw stopping()
    this.#followPair()
    const placed = this.#place()
    const connection = placed ?? this.#waiting.add(request.signal)
    this.#openMore()
    return await ('send' in connection ? connection : await connection).send(request, body)
  }

  #place(): H2Connection | undefined {
    for (let id = this.#core.place(); id !== undefined; id = this.#core.place()) {
      const connection = this.#connections.get(id)
      if (connection?.isUsable === true && !connection.isLeaving) return connection
      // Its end is known here before it is told, and where it is to end nobody tells.
      this.#core.finished(id, this.#clock.monotonicMs())
      this.#core.drain(id)
    }
    return undefined
  }

  /** A pair that was replaced: what is new gets connections of its own, what runs may end. */
  #followPair(): void {
    const pair = this.#options.pair?.()
    if (pair?.certificatePem === this.#pair?.certificatePem) return
    this.#pair = pair
    this.#failure = undefined
    this.#core.drainAll()
    this.#endExpired()
  }

  /** Why nothing is opened for the moment. */
  get #pausedBy(): UpstreamError | undefined {
    const { error, untilMs = 0 } = this.#failure ?? {}
    return this.#clock.monotonicMs() < untilMs ? error : undefined
  }

  #openMore(): void {
    if (this.#isClosed) return
    const pausedBy = this.#pausedBy
    if (pausedBy === undefined)
      for (let count = this.#core.wanted(this.#waiting.size); count > 0; count--)
        this.#options.net.guard('connection', () => {})(() => this.#open())
    // The last connection that could have had a stream for them is gone.
    else if (!this.#core.hasHope) this.#waiting.refuseAll(pausedBy)
    this.#planReview()
  }

  async #open(): Promise<void> {
    const { server, name, metrics, rttMs, net } = this.#options
    const id = this.#core.opening()
    const opening = new AbortController()
    this.#openings.set(id, opening)
    try {
      const pair = this.#pair
      const secured = await connectToApiServer(server, { protocol: 'h2', pair, signal: opening.signal })
      if (opening.signal.aborted) secured.socket.destroy()
      opening.signal.throwIfAborted()
      const { serverName, isLeaving, clock } = server
      const connection = new H2Connection({ secured, serverName, isLeaving, clock, rttMs, net }, this.#eventsOf(id))
      this.#connections.set(id, connection)
      this.#core.opened(id, clock.monotonicMs())
      this.#succeeded()
    } catch (error) {
      this.#core.closed(id)
      if (!opening.signal.aborted) this.#failed(error as UpstreamError)
      else metrics.opened(name, 'cancelled')
    } finally {
      this.#openings.delete(id)
    }
    this.#serveWaiting()
  }

  #eventsOf(id: number): ConstructorParameters<typeof H2Connection>[1] {
    return {
      peerTakes: (streams) => {
        this.#core.peerTakes(id, streams)
        this.#serveWaiting()
      },
      goingAway: () => {
        this.#core.drain(id)
        this.#endExpired()
      },
      finished: () => {
        if (this.#core.finished(id, this.#clock.monotonicMs())) this.#end(id)
        if (this.#waiting.size > 0) this.#serveWaiting()
      },
      closed: () => {
        this.#forget(id)
        if (this.#waiting.size > 0) this.#serveWaiting()
      },
    }
  }

  #succeeded(): void {
    const { metrics, name, logger } = this.#options
    metrics.opened(name, 'ok')
    if (this.#failure !== undefined) logger.info({ pool: name }, 'the API server is reached again')
    this.#failure = undefined
  }

  /** A crowd of clients that try again and again fills no log: the same problem is told once, and the link tells its own. */
  #failed(error: UpstreamError): void {
    const { metrics, name, logger } = this.#options
    const { kind, message } = error
    metrics.opened(name, kind)
    const fields = { pool: name, kind, why: message }
    if (kind === 'offline' || this.#failure?.error.message === message)
      logger.debug(fields, 'the API server cannot be reached')
    else logger.warn(fields, 'the API server cannot be reached')
    this.#failure = { error, untilMs: this.#clock.monotonicMs() + pauseAfter(error) }
    if (!this.#core.hasHope) this.#waiting.refuseAll(error)
  }

  #serveWaiting(): void {
    while (this.#waiting.size > 0) {
      const connection = this.#place()
      if (connection === undefined) break
      this.#waiting.serve(connection)
    }
    this.#openMore()
  }

  #endExpired(): void {
    for (const id of this.#core.expired(this.#clock.monotonicMs())) {
      this.#openings.get(id)?.abort(new Error('the connection is not needed any more'))
      this.#end(id)
    }
  }

  #end(id: number): void {
    this.#connections.get(id)?.end()
    this.#forget(id)
  }

  #forget(id: number): void {
    this.#core.closed(id)
    this.#connections.delete(id)
  }

  #planReview(): void {
    if (this.#cancelReview !== undefined || this.#connections.size + this.#openings.size === 0) return
    this.#cancelReview = this.#clock.schedule(POOL_REVIEW_MS, () => {
      this.#cancelReview = undefined
      this.leaveOldWays()
      for (const connection of this.#connections.values()) connection.review()
      this.#openMore()
    })
  }
}

function pauseAfter(error: UpstreamError): number {
  if (error instanceof ImpostorError) return error.retryAfterSeconds * 1000
  // Whether there is a link is known at once, and asking costs nothing.
  return error.kind === 'offline' ? 0 : FAILED_OPEN_PAUSE_MS
}

function stopping(): UpstreamError {
  return new UpstreamError('broken', 'the edge is stopping', { retryAfterSeconds: 5 })
}
