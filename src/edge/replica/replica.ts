/**
 * The replica of an edge, in the way of every request: it lets it go up, or answers it from what it has. Which of the two is
 * decided by the state of the link and of the API server, never by a single answer.
 */
import type { Reach } from '../reach/reach.ts'
import { type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import type { OfflineReads } from './offline-reads.ts'
import type { OnlineReads } from './online-reads.ts'
import { type Reading, readingOf } from './reading.ts'
import type { ReplicaRequest } from './replica-request.ts'

export interface ReplicaOptions {
  readonly reach: Pick<Reach, 'now' | 'answered' | 'failed' | 'confirm' | 'nodeRejected'>
  readonly online: OnlineReads
  readonly offline: OfflineReads
}

export class Replica {
  readonly #options: ReplicaOptions

  constructor(options: ReplicaOptions) {
    this.#options = options
  }

  /** Rejects as `up` of the request does, and with an ApiError where the edge itself has to refuse. */
  async answer(request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { reach, offline, online } = this.#options
    const watched: ReplicaRequest = { ...request, up: () => this.#up(request) }
    const reading = readingOf(request)
    if (reading === undefined) return await watched.up()
    if (reach.now.state === 'offline') return await offline.answer(reading, watched)
    try {
      return await online.answer(reading, watched)
    } catch (error) {
      return await this.#insteadOf(error, reading, watched)
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

  /** A request that failed on its way waits until it is known whether others would, too. */
  async #insteadOf(error: unknown, reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { reach, offline } = this.#options
    if (!(error instanceof UpstreamError) || error.kind === 'overloaded' || request.signal.aborted) throw error
    if ((await reach.confirm()) !== 'offline') throw error
    return await offline.answer(reading, request)
  }
}
