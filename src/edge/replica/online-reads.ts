/**
 * Reads while the API server can be reached. GETs and LISTs go up, and what comes is kept. Watches of one collection share one
 * watch of the API server, and a list that may be of any version comes from there too. What a feed cannot give exactly as it
 * was asked for goes up by itself.
 */
import type { ByteSource } from '../../http/body/byte-source.ts'
import { documentFormat } from '../../kube/document-format.ts'
import { isNotNewer } from '../../kube/reflector/versions.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type CollectionScope, scopeFrom, writeScope } from '../feeds/collection-scope.ts'
import type { Feed, Member } from '../feeds/feed.ts'
import { cursorAfter, cursorAtEnd } from '../feeds/feed-cursor.ts'
import type { FeedWatchBody } from '../feeds/feed-watch-body.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { RelayedWatch } from '../feeds/relayed-watch.ts'
import { InexactError } from '../feeds/representing.ts'
import { selectionFrom } from '../feeds/selection.ts'
import type { Identity } from '../readers/identity.ts'
import { authorizationOf, type Readers } from '../readers/readers.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { countedBody } from './counted-body.ts'
import type { FeedPolicy } from './feed-policy.ts'
import { initialObjects, listAnswer, outputOf } from './local-answer.ts'
import type { PassingAnswers } from './passing-answers.ts'
import type { ReadAudit } from './read-audit.ts'
import { type CollectionRead, type Reading, writingOf } from './reading.ts'
import type { ReadSource, ReplicaMetrics } from './replica-metrics.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { type SharedWatchOptions, watchAnswer, watchFrom } from './shared-watch.ts'

/**
 * What a kubelet writes, never watches, and asks for when it starts: without its own CSINode it takes no driver of volumes. All
 * else that it writes it either follows or has no use for without an API server.
 */
const READ_BACK_BY_NODE: ReadonlySet<string> = new Set(['csinodes'])

/** How long a reader waits for a feed to have its first list; then it asks by itself. */
const FEED_START_MS = 10_000

export interface OnlineReadsOptions {
  readonly feeds: Feeds
  readonly readers: Readers
  readonly passing: PassingAnswers
  readonly policy: FeedPolicy
  readonly metrics?: ReplicaMetrics | undefined
  readonly audit?: ReadAudit | undefined
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
}

export class OnlineReads {
  readonly #options: OnlineReadsOptions

  constructor(options: OnlineReadsOptions) {
    this.#options = options
  }

  async answer(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const answer = await this.#answer(reading, request)
    this.#options.metrics?.read(reading.kind, sourceOf(answer))
    return answer
  }

  async #answer(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { policy, passing, readers } = this.#options
    if (!(await this.#isKept(reading, request))) return await request.up()
    if (reading.kind === 'watch' && isShareable(reading)) return await this.#watch(reading, request)
    if (reading.kind === 'list' && isShareable(reading) && mayBeOld(reading)) {
      const answer = await this.#list(reading, request)
      if (answer !== undefined) return answer
    }
    const askedAtMs = this.#options.clock.nowMs()
    const answer = await request.up()
    this.#learn(reading, request, this.#rightsIn(answer, reading))
    const identity = readers.known(request.reader)
    if (identity === undefined && !policy.isShared(reading.info)) return answer
    const reader = { ...request.reader, account: readers.accountOf(request.reader), askedAtMs }
    return passing.pass(identity === undefined ? reading : this.#ownedBy(identity, reading), answer, reader)
  }

  /** The same answer to what is no read; of what the node will ask for later, what it wrote is kept. */
  written(request: ReplicaRequest, answer: UpstreamAnswer): UpstreamAnswer {
    const { policy, passing } = this.#options
    const info = request.reader.kind === 'node' ? writingOf(request) : undefined
    if (info === undefined || !READ_BACK_BY_NODE.has(info.resource) || !policy.keeps(info, true)) return answer
    return passing.passWritten(info, answer)
  }

  /** Kubernetes looks at rights before it looks for an object: who is told that there is none might have had it. */
  #rightsIn({ status }: UpstreamAnswer, { kind, info }: Reading): number {
    return status === 404 && kind === 'get' && this.#options.policy.isShared(info) ? 200 : status
  }

  #ownedBy<T extends Reading>(identity: Identity, reading: T): T {
    return { ...reading, scope: this.#scopeFor(reading, identity) }
  }

  /** Who reads is found out only where that decides. */
  async #isKept({ scope }: Reading, { reader }: ReplicaRequest): Promise<boolean> {
    const { policy, readers } = this.#options
    if (!policy.keeps(scope, true)) return false
    return policy.keeps(scope, false) || (await readers.isOfNode(reader))
  }

  /** Undefined where there is no feed that could tell. */
  async #list(reading: CollectionRead, request: ReplicaRequest): Promise<UpstreamAnswer | undefined> {
    const { feeds, readers, clock } = this.#options
    const known = readers.known(request.reader)
    if (known === undefined || feeds.find(this.#scopeFor(reading, known))?.state !== 'following') return undefined
    const identity = await readers.admit(request.reader, reading.info)
    const feed = identity && feeds.find(this.#scopeFor(reading, identity))
    if (identity === undefined || feed?.state !== 'following' || feed.type === undefined) return undefined
    // The API server says what such a list is called, and it is learnt as it passes.
    if (feed.type.isListKindGuessed === true) return undefined
    try {
      const output = outputOf(reading, feed.type, clock)
      const selection = selectionFrom(feed.scope, feed.scope, feed.type.kind)
      const answer = await listAnswer(feed, reading, { selection, output, clock, signal: request.signal })
      return this.#fromFeed(answer, reading, identity)
    } catch (error) {
      if (error instanceof InexactError) return undefined
      throw error
    }
  }

  async #watch(reading: CollectionRead, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { feeds, readers } = this.#options
    const identity = await readers.admit(request.reader, reading.info)
    const isOfNode = identity !== undefined && (await readers.isOfNode(request.reader))
    // From here to where the feed has its reader nothing is waited for: one without readers may be dropped at any time.
    const feed = identity && feeds.ensure(this.#scopeFor(reading, identity), readers.accountOf(request.reader))
    if (identity === undefined || feed === undefined) return await this.#upAlone(reading, request)
    if (isOfNode) feed.claimForNode()
    const answer = await new WatchOpening(feed, reading, request, this.#options).answer()
    return answer.isLocal === true ? this.#fromFeed(answer, reading, identity) : answer
  }

  #fromFeed(answer: UpstreamAnswer, { info }: Reading, { user }: Identity): UpstreamAnswer {
    const { audit, metrics } = this.#options
    audit?.decided({ user: user.username, info, code: answer.status, source: 'feed' })
    return metrics === undefined ? answer : { ...answer, body: given(answer.body, metrics) }
  }

  async #upAlone(reading: Reading, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const answer = await request.up()
    this.#learn(reading, request, answer.status)
    return answer
  }

  /** Another server behind the API server may refuse a token for reasons of its own; of that nothing follows. */
  #learn({ info }: Reading, { reader }: ReplicaRequest, status: number): void {
    const { readers, policy } = this.#options
    if (status !== 401 || policy.isShared(info)) void readers.learn(reader, info, status).catch(() => {})
  }

  /** Of servers that may show different callers different things each caller has feeds of its own. */
  #scopeFor({ info, scope }: Reading, { key }: Identity): CollectionScope {
    return this.#options.policy.isShared(info) ? scope : scopeFrom({ ...writeScope(scope), owner: key })
  }
}

/** One watch on its way to a feed. */
class WatchOpening {
  readonly #feed: Feed
  readonly #reading: CollectionRead
  readonly #request: ReplicaRequest
  readonly #options: OnlineReadsOptions
  readonly #leave: () => void
  #body: FeedWatchBody | RelayedWatch | undefined
  /** The feed has no list yet, and nobody had asked for one before this watch. */
  readonly #isFirst: boolean
  readonly #wasFollowing: boolean
  /** The feed is none of this reader's any more, or is gone: it must not be taken over to. */
  #isLost = false

  constructor(feed: Feed, reading: CollectionRead, request: ReplicaRequest, options: OnlineReadsOptions) {
    this.#feed = feed
    this.#reading = reading
    this.#request = request
    this.#options = options
    this.#isFirst = !feed.isComplete && feed.members === 0 && feed.state === 'resting'
    this.#wasFollowing = feed.state === 'following'
    const { pool } = request.reader
    const member: Member = {
      sponsor: { pool, authorization: authorizationOf(request.reader) },
      lost: () => this.#lost(),
    }
    this.#leave = feed.join(member)
  }

  async answer(): Promise<UpstreamAnswer> {
    try {
      return (await this.#fromFeed()) ?? (await this.#relayed())
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  #lost(): void {
    this.#isLost = true
    if (this.#body instanceof RelayedWatch) return
    this.#body?.finish()
  }

  /** Undefined where the feed does not have what the watch has to begin with. */
  async #fromFeed(): Promise<UpstreamAnswer | undefined> {
    const { resourceVersion, sendInitialEvents } = this.#reading.options
    const isAny = resourceVersion === '0'
    const wantsInitial = sendInitialEvents ?? (resourceVersion === '' || isAny)
    if (!wantsInitial) return resourceVersion === '' || isAny ? undefined : this.#resumed(resourceVersion)
    // "The most recent" is what a feed has that fetched its first list after it was asked.
    const isFresh = resourceVersion === '' && this.#isFirst
    if (isFresh || (isAny && !this.#wasFollowing)) {
      if (!(await this.#isFollowing())) return undefined
      return this.#initial()
    }
    const isNewEnough = isAny || (resourceVersion !== '' && isNotNewer(resourceVersion, this.#feed.version))
    return isNewEnough && this.#feed.state === 'following' ? this.#initial() : undefined
  }

  #resumed(version: string): UpstreamAnswer | undefined {
    const rest = this.#takeOver(version) ?? this.#expired(version)
    return rest && watchAnswer(rest, this.#reading.output)
  }

  #initial(): UpstreamAnswer | undefined {
    const shared = this.#shared()
    if (shared === undefined) return undefined
    const body = watchFrom(shared, { cursor: cursorAtEnd(this.#feed), initial: initialObjects(this.#feed) })
    this.#body = body
    return watchAnswer(body, this.#reading.output)
  }

  #takeOver(version: string): FeedWatchBody | undefined {
    const shared = this.#feed.isUnreadable ? undefined : this.#shared()
    const cursor = shared && this.#feed.isComplete ? cursorAfter(this.#feed, version) : undefined
    if (shared === undefined || cursor === undefined) return undefined
    const body = watchFrom(shared, { cursor })
    this.#body = body
    return body
  }

  /** One who was led across a gap by this feed knows more than its version says: the API server cannot lead it on. */
  #expired(version: string): FeedWatchBody | undefined {
    const shared = this.#feed.history.isAmbiguous(version) ? this.#shared() : undefined
    return shared && watchFrom(shared, { cursor: undefined })
  }

  /** From the API server, until the feed can go on. */
  async #relayed(): Promise<UpstreamAnswer> {
    const { options, info } = this.#reading
    const answer = await this.#request.up()
    void this.#options.readers.learn(this.#request.reader, info, answer.status).catch(() => {})
    const contentType = answer.headers.find(([name]) => name === 'content-type')?.[1] ?? ''
    const format = documentFormat(contentType)
    if (answer.status !== 200 || format === undefined) {
      this.#leave()
      return answer
    }
    const isResumed =
      options.resourceVersion !== '' && options.resourceVersion !== '0' && options.sendInitialEvents !== true
    const body = new RelayedWatch({
      upstream: answer.body,
      format,
      fromVersion: isResumed ? options.resourceVersion : '',
      takeOver: (version) => {
        const rest = this.#takeOver(version)
        return rest && this.#options.metrics ? given(rest, this.#options.metrics) : rest
      },
      over: this.#leave,
    })
    this.#body = body
    return { status: 200, headers: answer.headers, body, isRetold: () => body.isTaken, trailers: () => [] }
  }

  #shared(): SharedWatchOptions | undefined {
    const { clock, random, readers } = this.#options
    const { type, scope } = this.#feed
    if (type === undefined || this.#isLost) return undefined
    return {
      feed: this.#feed,
      reading: this.#reading,
      output: outputOf(this.#reading, type, clock),
      selection: selectionFrom(scope, scope, type.kind),
      clock,
      random,
      mayStill: async () => {
        const verdict = await readers.review(this.#request.reader, this.#reading.info)
        return verdict !== 'denied' && verdict !== 'rejected'
      },
      over: this.#leave,
    }
  }

  /** False where it does not come to that: whoever waits asks by itself. */
  #isFollowing(): Promise<boolean> {
    const { clock } = this.#options
    const { signal } = this.#request
    const { state } = this.#feed
    if (state !== 'starting') return Promise.resolve(state === 'following')
    return new Promise((resolve) => {
      const settle = (isFollowing: boolean): void => {
        stop()
        cancel()
        resolve(isFollowing)
      }
      const stop = this.#feed.listen(() => {
        if (this.#feed.state === 'following') settle(true)
        else if (this.#feed.state !== 'starting') settle(false)
      })
      const cancel = clock.schedule(FEED_START_MS, () => settle(false))
      signal.addEventListener('abort', () => settle(false), { once: true })
    })
  }
}

function sourceOf({ isLocal, body }: UpstreamAnswer): ReadSource {
  if (isLocal === true) return 'feed'
  return body instanceof RelayedWatch ? 'relayed' : 'upstream'
}

function given(body: ByteSource, metrics: ReplicaMetrics): ByteSource {
  return countedBody(body, (bytes) => metrics.given('feed', bytes))
}

/** Objects as they are, in an encoding that a feed has; Tables and bare metadata go up. */
function isShareable({ output: { representation, pretty } }: CollectionRead): boolean {
  return representation.as === 'Object' && representation.encoding !== 'yaml' && !pretty
}

/** A list that may be of any version, and in one piece. */
function mayBeOld({ options }: CollectionRead): boolean {
  return options.resourceVersion === '0' && options.resourceVersionMatch !== 'Exact' && options.continueToken === ''
}
