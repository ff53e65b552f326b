/**
 * The replica of an edge, in the way of every request: it lets it go up, or answers it from what it has. Which of the two is
 * decided by the state of the link and of the API server, never by a single answer. What must stay true: while the API server
 * cannot be reached nothing waits for it, and nothing claims to have had an effect.
 */
import type { Cancellation } from '../../http/server/ending.ts'
import { serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { findApiError, isServiceUnavailable } from '../../kube/status/predicates.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Reach } from '../reach/reach.ts'
import { type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import { type Documents, documentPath } from './documents.ts'
import { OFFLINE_RETRY_SECONDS, type OfflineReads } from './offline-reads.ts'
import type { OnlineReads } from './online-reads.ts'
import { type PodStatuses, podStatusOf } from './pod-statuses.ts'
import type { ReadAudit } from './read-audit.ts'
import { readingOf } from './reading.ts'
import type { ReadVerb, ReplicaMetrics } from './replica-metrics.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { type AskedToken, type TokenAnswers, tokenRequestOf } from './token-answers.ts'

/** A request that has no answer by then makes the edge ask whether anybody would get one. */
export const SLOW_ANSWER_MS = 2_000

/** Refusals that the API server may not share: it may have another word on a token or a right by now, or more to give. */
const unsureCodes: ReadonlySet<number> = new Set([401, 403, 503])

export interface ReplicaOptions {
  /** Its name. */
  readonly node: string
  readonly reach: Pick<Reach, 'now' | 'answered' | 'failed' | 'doubt' | 'confirm' | 'nodeRejected' | 'onChange'>
  readonly online: OnlineReads
  readonly offline: OfflineReads
  readonly documents: Documents
  readonly tokens: TokenAnswers
  readonly statuses: PodStatuses
  /** Nothing is kept: what cannot go up is refused. */
  readonly isOff?: boolean
  /** Hears the `Date` of answers of the API server. */
  readonly told?: (date: string) => void
  readonly metrics?: ReplicaMetrics | undefined
  readonly audit?: ReadAudit | undefined
  readonly clock: Clock
}

/** The two ways to answer one request. */
interface Ways {
  /** By the API server, or by a feed that follows it. */
  online(): Promise<UpstreamAnswer>
  /**
   * From what is kept; throws an ApiError where that does not do. `failure` is what became of an attempt to reach the API
   * server, for what has no other answer.
   */
  offline(failure?: UpstreamError): Promise<UpstreamAnswer>
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
    const { reach } = this.#options
    const isOffline = reach.now.state === 'offline'
    const watched: ReplicaRequest = { ...request, readBody: readOnce(request), up: (body) => this.#up(request, body) }
    const ways = this.#waysOf(watched)
    if (ways === undefined) {
      if (isOffline && this.#hasBeenOnline) throw this.#neverKept()
      return await this.#unkept(watched)
    }
    if (isOffline && this.#hasBeenOnline) return await ways.offline()
    try {
      return isOffline ? await this.#early(ways, watched) : await this.#patiently(ways, watched)
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind === 'overloaded' || request.signal.aborted) throw error
      // One that failed on its way waits until it is known whether others would, too.
      if ((await reach.confirm()) !== 'offline') throw error
      return await ways.offline(error)
    }
  }

  /** Undefined for what nothing is kept of: most writes, logs, requests in another's name. */
  #waysOf(request: ReplicaRequest): Ways | undefined {
    const { online, offline, documents, tokens, statuses } = this.#options
    if (this.#options.isOff === true) return undefined
    const reading = readingOf(request)
    if (reading !== undefined)
      return { online: () => online.answer(reading, request), offline: () => offline.answer(reading, request) }
    const path = documentPath(request)
    if (path !== undefined)
      return {
        online: async () => this.#counted('document', documents.pass(path, await request.up())),
        offline: () => offline.document(path, request),
      }
    const asked = tokenRequestOf(request)
    if (asked !== undefined)
      return {
        online: async () => this.#counted('token', await tokens.pass(asked, request)),
        offline: () => this.#keptToken(asked, request),
      }
    const pod = podStatusOf(request)
    return pod && statuses.ways(pod, request)
  }

  #counted(verb: ReadVerb, answer: UpstreamAnswer): UpstreamAnswer {
    this.#options.metrics?.read(verb, 'upstream')
    return answer
  }

  async #keptToken(asked: AskedToken, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { tokens, metrics, audit, node, reach } = this.#options
    try {
      const answer = await tokens.answer(asked, request)
      metrics?.read('token', 'offline')
      audit?.decided({
        user: `system:node:${node}`,
        info: asked,
        code: answer.status,
        source: 'offline',
        offlineSinceMs: reach.now.sinceMs,
      })
      return answer
    } catch (error) {
      if (isServiceUnavailable(error)) metrics?.refused('not-kept')
      throw error
    }
  }

  /** In words that do not tell strangers where the hub is; the log says why. */
  #neverKept(): ApiError {
    const { metrics, reach } = this.#options
    metrics?.refused('never-kept')
    const since = new Date(reach.now.sinceMs).toISOString()
    return serviceUnavailable(
      `this node is cut off from its API server since ${since}: until it is back only what was read here before can be read`,
      OFFLINE_RETRY_SECONDS,
    )
  }

  /** Waits as long as the client does, but has others not wait for an API server that is silent. */
  async #unkept(request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { clock, reach, online } = this.#options
    const cancelDoubt = clock.schedule(SLOW_ANSWER_MS, () => reach.doubt())
    try {
      return online.written(request, await request.up())
    } finally {
      cancelDoubt()
    }
  }

  /** What is kept is answered at once; what is not, and who is not known or not allowed here, may be told better in a moment. */
  async #early(ways: Ways, request: ReplicaRequest): Promise<UpstreamAnswer> {
    try {
      return await ways.offline()
    } catch (error) {
      const isUnsure = error instanceof UpstreamError || unsureCodes.has(findApiError(error)?.code ?? 0)
      if (isUnsure) return await this.#patiently(ways, request)
      throw error
    }
  }

  async #up(request: ReplicaRequest, body?: Buffer): Promise<UpstreamAnswer> {
    const { reach } = this.#options
    try {
      const answer = await request.up(body)
      const date = answer.headers.find(([name]) => name === 'date')?.[1]
      if (date !== undefined) this.#options.told?.(date)
      if (answer.status === 401 && request.reader.kind === 'node') reach.nodeRejected()
      else reach.answered()
      return answer
    } catch (error) {
      reach.failed(error)
      throw error
    }
  }

  /** What has not been answered when the API server is found to be away does not wait for the link to say so. */
  async #patiently(ways: Ways, { signal }: ReplicaRequest): Promise<UpstreamAnswer> {
    const { clock, reach } = this.#options
    const answering = ways.online()
    const patience = new Patience(reach, signal)
    const cancelDoubt = clock.schedule(SLOW_ANSWER_MS, () => reach.doubt())
    let isOurs = false
    try {
      const first = await Promise.race([answering, patience.lost])
      isOurs = first !== undefined
      return first ?? (await ways.offline())
    } finally {
      if (!isOurs) discard(answering)
      cancelDoubt()
      patience.end()
    }
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
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    this.lost.catch(() => {})
    this.end = reach.onChange(({ state }) => {
      if (state === 'offline') settle()
    })
  }
}

/** A body can be read once, and both ways may need it. */
function readOnce({ readBody }: ReplicaRequest): ReplicaRequest['readBody'] {
  let reading: Promise<Buffer> | undefined
  return (maxBytes) => (reading ??= readBody(maxBytes))
}

/** Whenever it comes: what nobody reads must not go on. */
function discard(answering: Promise<UpstreamAnswer>): void {
  answering.then(
    ({ body }) => body.cancel(),
    () => {},
  )
}
