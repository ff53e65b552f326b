/**
 * Reads while the API server cannot be reached: what was kept, to those who were last known to be allowed to have it, with a
 * warning that says since when it may be out of date. What is not known is never made up: no empty list for what was never
 * seen, no 404 but from a complete list, and 503 for whoever nothing is known about.
 */
import type { RequestInfo } from '../../kube/request-info.ts'
import { accessDenied } from '../../kube/status/access-denied.ts'
import { serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { findApiError } from '../../kube/status/predicates.ts'
import { unauthorized } from '../../kube/status/request-errors.ts'
import { notFound } from '../../kube/status/resource-errors.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type CollectionScope, describeScope, scopeFrom, writeScope } from '../feeds/collection-scope.ts'
import type { Feed } from '../feeds/feed.ts'
import { cursorAfter, cursorAtEnd } from '../feeds/feed-cursor.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { type CollectionType, InexactError } from '../feeds/representing.ts'
import { type Selection, selectionFrom } from '../feeds/selection.ts'
import type { Identity } from '../readers/identity.ts'
import { authorizationOf, type Readers } from '../readers/readers.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { countedBody } from './counted-body.ts'
import type { Documents } from './documents.ts'
import type { FeedPolicy } from './feed-policy.ts'
import {
  checkVersion,
  findObject,
  initialObjects,
  listAnswer,
  objectAnswer,
  objectKey,
  outputOf,
} from './local-answer.ts'
import type { ReadAudit } from './read-audit.ts'
import type { CollectionRead, ObjectRead, Reading } from './reading.ts'
import type { OfflineRefusal, ReplicaMetrics } from './replica-metrics.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { watchAnswer, watchFrom } from './shared-watch.ts'

/** Go's client repeats ten times by itself what carries a Retry-After: kubectl would be silent for ten times as long. */
export const OFFLINE_RETRY_SECONDS = 1

export interface OfflineReadsOptions {
  readonly feeds: Feeds
  readonly readers: Readers
  readonly policy: FeedPolicy
  readonly documents: Documents
  readonly metrics?: ReplicaMetrics | undefined
  readonly audit?: ReadAudit | undefined
  /** The date since which the API server cannot be reached. */
  readonly offlineSinceMs: () => number
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
}

/** What a read is answered from. */
interface Found {
  readonly feed: Feed
  readonly type: CollectionType
  readonly selection: Selection
  readonly warning: string
}

export class OfflineReads {
  readonly #options: OfflineReadsOptions

  constructor(options: OfflineReadsOptions) {
    this.#options = options
  }

  /** Throws an ApiError for all that cannot be answered. */
  async answer(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const identity = await this.#identify(request)
    try {
      const answer = await this.#answer(reading, identity, request)
      this.#decided(reading.info, identity, answer.status)
      return this.#counted(answer, reading)
    } catch (error) {
      this.#decided(reading.info, identity, findApiError(error)?.code ?? 500)
      throw error
    }
  }

  async #answer(reading: Reading, identity: Identity, request: ReplicaRequest): Promise<UpstreamAnswer> {
    this.#authorize(reading, identity)
    const found = this.#find(reading, identity)
    try {
      if (reading.kind === 'get') return this.#get(reading, found)
      return reading.kind === 'list' ? await this.#list(reading, found, request) : this.#watch(reading, found, request)
    } catch (error) {
      if (error instanceof InexactError) throw this.#unavailable(error.message, 'inexact')
      throw error
    }
  }

  #decided(info: RequestInfo, { user }: Identity, code: number): void {
    const { audit, offlineSinceMs } = this.#options
    audit?.decided({ user: user.username, info, code, source: 'offline', offlineSinceMs: offlineSinceMs() })
  }

  #counted(answer: UpstreamAnswer, { kind }: Reading): UpstreamAnswer {
    const { metrics } = this.#options
    if (metrics === undefined) return answer
    metrics.read(kind, 'offline')
    return { ...answer, body: countedBody(answer.body, (bytes) => metrics.given('offline', bytes)) }
  }

  /** A document about the API. Throws an ApiError where there is none that the caller can read. */
  async document(path: string, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const identity = await this.#identify(request)
    const at = new Date(this.#options.offlineSinceMs()).toISOString()
    const warning = `299 - "this node is cut off from its API server since ${at}"`
    const answer = this.#options.documents.answer(path, request, warning)
    if (answer === undefined)
      throw this.#unavailable(`${path} has not been kept here in a form that was asked for`, 'not-kept')
    this.#options.metrics?.read('document', 'offline')
    if (request.info !== undefined) this.#decided(request.info, identity, answer.status)
    return answer
  }

  async #identify({ reader }: ReplicaRequest): Promise<Identity> {
    const recognised = await this.#options.readers.recognise(reader)
    if (recognised.kind === 'known') return recognised.identity
    if (recognised.kind === 'unknown') throw this.#unavailable(recognised.why, 'token-unknown')
    this.#options.metrics?.refused('token-rejected')
    throw unauthorized(recognised.why)
  }

  #authorize({ info }: Reading, identity: Identity): void {
    const verdict = this.#options.readers.verdictOf(identity, info)
    if (verdict === 'denied') {
      this.#options.metrics?.refused('denied')
      throw accessDenied(identity.user.username, info)
    }
    if (verdict === undefined)
      throw this.#unavailable(
        `it is not known here whether ${identity.user.username} may ${info.verb} ${info.resource}`,
        'verdict-unknown',
      )
  }

  #find(reading: Reading, { key }: Identity): Found {
    const { feeds, policy } = this.#options
    const { info } = reading
    const own = (): CollectionScope => scopeFrom({ ...writeScope(reading.scope), owner: key })
    const scope = policy.isShared(info) ? reading.scope : own()
    const object = reading.kind === 'get' ? objectKey(info) : undefined
    const isKept = policy.keeps(reading.scope, true)
    // What somebody has read before it was shared is still there for them.
    const feed = isKept ? (feeds.covering(scope, object) ?? feeds.covering(own(), object)) : undefined
    const type = feed?.type
    if (feed === undefined || type === undefined)
      throw this.#unavailable(`${describeScope(scope)} have not been kept here`, 'not-kept')
    return { feed, type, selection: selectionFrom(feed.scope, scope, type.kind), warning: this.#warning(feed, scope) }
  }

  #get(reading: ObjectRead, { feed, type, warning }: Found): UpstreamAnswer {
    const object = findObject(feed, reading)
    const { apiGroup: group, resource, name } = reading.info
    if (object === undefined) throw notFound({ group, resource }, name)
    return objectAnswer(object, outputOf(reading, type, this.#options.clock), warning)
  }

  async #list(
    reading: CollectionRead,
    { feed, type, selection, warning }: Found,
    { signal }: ReplicaRequest,
  ): Promise<UpstreamAnswer> {
    const { clock } = this.#options
    const output = outputOf(reading, type, clock)
    return await listAnswer(feed, reading, { selection, output, clock, signal, warning })
  }

  /** The reader is a member of the feed from here on, so that it goes on when the API server is back. */
  #watch(
    reading: CollectionRead,
    { feed, type, selection, warning }: Found,
    { reader }: ReplicaRequest,
  ): UpstreamAnswer {
    const { clock, random, readers } = this.#options
    const { resourceVersion, sendInitialEvents } = reading.options
    const isAny = resourceVersion === '' || resourceVersion === '0'
    const wantsInitial = sendInitialEvents ?? isAny
    if (wantsInitial) checkVersion(feed, reading.options)
    const cursor = wantsInitial || isAny ? cursorAtEnd(feed) : cursorAfter(feed, resourceVersion)
    const initial = wantsInitial ? initialObjects(feed) : undefined
    let finish = (): void => {}
    const sponsor = { pool: reader.pool, authorization: authorizationOf(reader) }
    const leave = feed.join({ sponsor, lost: () => finish() })
    const mayStill = async (): Promise<boolean> => {
      const verdict = await readers.review(reader, reading.info)
      return verdict !== 'denied' && verdict !== 'rejected'
    }
    const output = outputOf(reading, type, clock)
    const shared = { feed, reading, output, selection, clock, random, mayStill, over: leave }
    const body = watchFrom(shared, { cursor, initial })
    finish = () => body.finish()
    return watchAnswer(body, output, warning)
  }

  /** As RFC 9111 had it, and as kubectl prints it. */
  #warning(feed: Feed, scope: CollectionScope): string {
    const at = new Date(Math.min(feed.currentAtMs, this.#options.offlineSinceMs())).toISOString()
    return `299 - "this node is cut off from its API server; ${scope.resource} are as they were at ${at}"`
  }

  #unavailable(why: string, reason: OfflineRefusal): ApiError {
    this.#options.metrics?.refused(reason)
    const since = new Date(this.#options.offlineSinceMs()).toISOString()
    return serviceUnavailable(`this node is cut off from its API server since ${since}: ${why}`, OFFLINE_RETRY_SECONDS)
  }
}
