/**
 * The replica of an edge, in the way of every request: it lets it go up, or answers it from what it has. Which of the two is
 * decided by the state of the link and of the API server, never by a single answer. What must stay true: while the API server
 * cannot be reached nothing waits for it, and nothing claims to have had an effect.
 */
import type { Cancellation } from '../../http/server/ending.ts'
import { isServiceUnavailable } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Reach } from '../reach/reach.ts'
import { type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import type { OfflineReads } from './offline-reads.ts'
import type { OnlineReads } from './online-reads.ts'
import { type Reading, readingOf } from './reading.ts'
import type { ReplicaRequest } from './replica-request.ts'

/** A read that has no answer by then makes the edge ask whether anybody would get one. */
export const SLOW_ANSWER_MS = 2_000

export interface ReplicaOptions {
  readonly reach: Pick<Reach, 'now' | 'answered' | 'failed' | 'doubt' | 'confirm' | 'nodeRejected' | 'onChange'>
  readonly online: OnlineReads
  readonly offline: OfflineReads
  readonly clock: Clock
}

export class Replica {
  readonly #options: ReplicaOptions
  /** Whether this process has reached the API server yet: until then "offline" may mean no more than "not yet". */
  #hasBeenOnline = false

  constructor(options: ReplicaOptions) {
    this.#options = options
    options.reach.onChange(({ state }) => {
      if (state === 'online') this.#hasBeenOnline = true
    })
  }

  /** Rejects as `up` of the request does, and with an ApiError where the edge itself has to refuse. */
  async answer(request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { reach, offline } = this.#options
    const watched: ReplicaRequest = { ...request, up: () => this.#up(request) }
    const reading = readingOf(request)
    const isOffline = reach.now.state === 'offline'
    if (reading === undefined) {
      if (isOffline && this.#hasBeenOnline) throw new UpstreamError('offline', reach.now.why)
      return await watched.up()
    }
    if (isOffline && this.#hasBeenOnline) return await offline.answer(reading, watched)
    try {
      if (isOffline) return await this.#early(reading, watched)
      return await this.#online(reading, watched)
    } catch (error) {
      return await this.#insteadOf(error, reading, watched)
    }
  }

  /** What is kept is answered at once; what is not may be had in a moment. */
  async #early(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    try {
      return await this.#options.offline.answer(reading, request)
    } catch (error) {
      if (isServiceUnavailable(error)) return await this.#online(reading, request)
      throw error
    }
  }

  async #up(request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { reach } = this.#options
    try {
      const answer = await request.up()
      if (answer.status === 401 && request.reader.kind === 'node') reach.nodeRejected()
      else reach.answered()
      return answer
    } catch (error) {
      reach.failed(error)
      throw error
    }
  }

  /** What has not been answered when the API server is found to be away does not wait for the link to say so. */
  async #online(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { clock, online, reach } = this.#options
    const answering = online.answer(reading, request)
    const patience = new Patience(reach, request.signal)
    const cancelDoubt = clock.schedule(SLOW_ANSWER_MS, () => reach.doubt())
    try {
      const first = await Promise.race([answering, patience.lost])
      if (first !== undefined) return first
      discard(answering)
      return await this.#options.offline.answer(reading, request)
    } finally {
      cancelDoubt()
      patience.end()
    }
  }

  /** A request that failed on its way waits until it is known whether others would, too. */
  async #insteadOf(error: unknown, reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { reach, offline } = this.#options
    if (!(error instanceof UpstreamError) || error.kind === 'overloaded' || request.signal.aborted) throw error
    if ((await reach.confirm()) !== 'offline') throw error
    return await offline.answer(reading, request)
  }
}

/** Settles when there is nothing to wait for any more. */
class Patience {
  readonly lost: Promise<undefined>
  readonly end: () => void

  constructor(reach: Pick<Reach, 'onChange'>, signal: Cancellation) {
    let settle = (): void => {}
    this.lost = new Promise((resolve, reject) => {
      settle = () => resolve(undefined)
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    this.lost.catch(() => {})
    this.end = reach.onChange(({ state }) => {
      if (state === 'offline') settle()
    })
  }
}

function discard(answering: Promise<UpstreamAnswer>): void {
  answering.then(
    ({ body }) => body.destroy(),
    () => {},
  )
}
