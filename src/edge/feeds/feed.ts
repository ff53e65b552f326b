/**
 * The edge's replica of one collection in one scope: a complete list, and while anybody reads it a watch that keeps it up to
 * date, on the credential of one of its present readers. Without readers it rests and stays as it is. What must stay true:
 * - Once it follows, only its watch moves it. While it rests, a newer complete list may take its place.
 * - Its objects are what the API server had at its version, all of them.
 */

import type { Failure } from '../../kube/reflector/failure.ts'
import type { Step } from '../../kube/reflector/protocol.ts'
import { Reflector } from '../../kube/reflector/reflector.ts'
import { isNotNewer } from '../../kube/reflector/versions.ts'
import type { Change } from '../../kube/reflector/view.ts'
import { findApiError } from '../../kube/status/predicates.ts'
import { Backoff } from '../../runtime/backoff.ts'
import { callAll } from '../../runtime/call-all.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { type CollectionScope, describeScope, scopeSelectors } from './collection-scope.ts'
import { FeedHistory } from './feed-history.ts'
import { FeedSource, type Sponsor } from './feed-source.ts'
import { type LearnedType, learnType } from './kept-list.ts'
import type { KeptObject } from './kept-object.ts'
import { bytesOf, grownBy } from './object-bytes.ts'
import { recordChanges } from './record-changes.ts'
import type { CollectionType } from './representing.ts'

/** A client that watches again comes within moments: so long the watch goes on without anybody to read it. */
export const FEED_LINGER_MS = 30_000

/** A watch from a version that the API server has forgotten is opened all the same, and refused by its first event within this time. */
export const RESUME_REFUSED_MS = 5_000

/** Someone who reads, and on whose credential the feed may be followed. */
export interface Member {
  readonly sponsor: Sponsor
  /** The API server does not let it read this any more: it has to go. Not called for one that has left. */
  lost(error: Error): void
}

/**
 * `resting`: nobody reads. `starting`: there is a list to be had first, or again. `following`: whatever changes is told.
 * `failing`: the watch is broken; what there is stays as it was.
 */
export type FeedState = 'resting' | 'starting' | 'following' | 'failing'

/** What a feed had in an earlier life, or what somebody was given: complete at its version. */
export interface KeptList {
  readonly objects: readonly KeptObject[]
  readonly resourceVersion: string
}

export interface RestoredList extends KeptList {
  /** The date at which it was last known to be what the API server has. */
  readonly currentAtMs: number
}

export interface FeedOptions {
  readonly scope: CollectionScope
  readonly upstream: Pick<Upstream, 'request'>
  readonly restored?: RestoredList | undefined
  /** What its objects are, where that is known. */
  readonly type?: CollectionType | undefined
  /** How many changes it remembers. */
  readonly maxHistory?: number
  /** Hears of all that changes, to keep it. */
  readonly moved?: (feed: Feed, changes: readonly Change<KeptObject>[], isSnapshot: boolean) => void
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

export class Feed {
  readonly #options: FeedOptions
  readonly #reflector: Reflector<KeptObject>
  readonly #listeners = new Set<() => void>()
  readonly #retellers = new Set<(keys: readonly string[]) => void>()
  /** The first is the sponsor. */
  readonly #members: Member[] = []
  readonly history: FeedHistory
  #state: FeedState = 'resting'
  /** There until the reflector has come to rest. */
  #run: AbortController | undefined
  #isReachable = true
  #cancelWait = (): void => {}
  /** After a defect it waits, whoever comes: each try costs the API server a list. */
  readonly #restarts: Backoff
  #restartAtMs = 0
  #lastError: Error | undefined
  #type: CollectionType | undefined
  #currentAtMs: number
  /** Since when it follows, on the monotonic clock, and whether it has heard anything since. */
  #followingMs = 0
  #hasHeard = false
  #isForNode = false
  #isUnreadable = false
  #isClosed = false
  #bytes = 0
  /** The version that the history has come to. Where others read both, it is that of the objects. */
  #recordedVersion: string

  constructor(options: FeedOptions) {
    const { scope, upstream, restored, clock, random } = options
    this.#options = options
    this.#type = options.type
    this.#restarts = new Backoff(random)
    this.history = new FeedHistory(options.maxHistory)
    this.#currentAtMs = restored?.currentAtMs ?? 0
    const source = new FeedSource({
      scope,
      upstream,
      clock,
      sponsor: () => this.#sponsor(),
      learned: (type) => this.learn(type),
      following: () => {
        // One that was told to stop meanwhile follows nothing.
        if (this.#run?.signal.aborted === false) this.#enter('following')
      },
    })
    const selection = scopeSelectors(scope)
    this.#reflector = new Reflector(source, { clock, random, restored, selection, taken: (step) => this.#step(step) })
    if (restored !== undefined) this.history.begin(restored.resourceVersion)
    this.#bytes = bytesOf(this.objects.values())
    this.#recordedVersion = this.version
  }

  get scope(): CollectionScope {
    return this.#options.scope
  }

  get state(): FeedState {
    return this.#state
  }

  /** By `namespace/name`, or `name`. */
  get objects(): ReadonlyMap<string, KeptObject> {
    return this.#reflector.objects
  }

  /** At which the objects are complete; empty where they never were. */
  get version(): string {
    return this.#reflector.resourceVersion
  }

  get isComplete(): boolean {
    return this.version !== ''
  }

  /** Undefined until somebody has seen one of its objects, or a list of them that says what those are. */
  get type(): CollectionType | undefined {
    return this.#type?.kind === '' ? undefined : this.#type
  }

  learn(learned: LearnedType): void {
    const type = learnType(this.#type, learned)
    if (type === this.#type) return
    this.#type = type
    if (this.isComplete) this.#options.moved?.(this, [], false)
  }

  /** Whether the node itself reads it, and not only pods. */
  get isForNode(): boolean {
    return this.#isForNode
  }

  claimForNode(): void {
    if (this.#isForNode) return
    this.#isForNode = true
    if (this.isComplete) this.#options.moved?.(this, [], false)
  }

  /** What came last from the API server makes no sense here: nobody can be led on until it does. */
  get isUnreadable(): boolean {
    return this.#isUnreadable
  }

  /** Of its objects, as they came. */
  get bytes(): number {
    return this.#bytes
  }

  /** Of all that it has in memory. */
  get heldBytes(): number {
    return this.#bytes + this.history.heldBytes + this.scope.bytes
  }

  get members(): number {
    return this.#members.length
  }

  get lastError(): Error | undefined {
    return this.#lastError
  }

  /** The date at which it was last known to be what the API server has. */
  get currentAtMs(): number {
    return this.isCurrent ? this.#options.clock.nowMs() : this.#currentAtMs
  }

  /** Whether it is what the API server has, as far as one can know. */
  get isCurrent(): boolean {
    if (this.#state !== 'following') return false
    return this.#hasHeard || this.#options.clock.monotonicMs() - this.#followingMs >= RESUME_REFUSED_MS
  }

  /** Hears that there is more to read, or that the state is another. Returns what ends it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Hears which objects are to be told again, by their keys. Returns what ends it. */
  onRetell(listener: (keys: readonly string[]) => void): () => void {
    this.#retellers.add(listener)
    return () => this.#retellers.delete(listener)
  }

  /**
   * Has objects told again to all who watch, as they are: nothing has happened to them, but what is made of them on the way to
   * a reader has changed.
   */
  retell(isMeant: (object: KeptObject) => boolean): void {
    if (this.#retellers.size === 0) return
    const keys = [...this.objects].flatMap(([key, object]) => (isMeant(object) ? [key] : []))
    if (keys.length > 0) callAll([...this.#retellers].map((listener) => () => listener(keys)))
  }

  /** Returns what is to be called when the member leaves. Whoever comes after the end is lost at once. */
  join(member: Member): () => void {
    const { clock } = this.#options
    if (this.#isClosed) return clock.schedule(0, () => member.lost(new Error('the feed is no more')))
    this.#members.push(member)
    this.#cancelWait()
    this.#start()
    return () => this.#leave(member)
  }

  /** `delayMs` before it asks again, so that not all feeds do at once. */
  setReachable(isReachable: boolean, delayMs = 0): void {
    this.#isReachable = isReachable
    this.#cancelWait()
    if (isReachable) this.#cancelWait = this.#options.clock.schedule(delayMs, () => this.#start())
    else this.#stop('failing')
  }

  /** A complete list that somebody was given. False where it is of no use: the feed follows, or has a newer one. */
  adopt({ objects, resourceVersion }: KeptList): boolean {
    if (this.#run !== undefined || resourceVersion === '') return false
    if (this.isComplete && resourceVersion === this.version) {
      // Nothing is new but that it is still so.
      this.#currentAtMs = this.#options.clock.nowMs()
      return false
    }
    if (this.isComplete && isNotNewer(resourceVersion, this.version)) return false
    this.#took(this.#reflector.adopt(objects, resourceVersion), true)
    this.#currentAtMs = this.#options.clock.nowMs()
    return true
  }

  /** Nobody may read it any more. */
  abandon(error: Error): void {
    this.#lose([...this.#members], error)
  }

  /** For good. */
  close(): void {
    this.#isClosed = true
    this.#cancelWait()
    this.#members.length = 0
    this.#stop('resting')
    this.#listeners.clear()
    this.#retellers.clear()
  }

  #sponsor(): Sponsor {
    const [member] = this.#members
    if (member === undefined) throw new Error('nobody reads this feed')
    return member.sponsor
  }

  #start(): void {
    if (this.#run !== undefined || this.#members.length === 0 || !this.#isReachable) return
    const waitMs = this.#restartAtMs - this.#options.clock.monotonicMs()
    if (waitMs > 0) {
      this.#cancelWait()
      this.#cancelWait = this.#options.clock.schedule(waitMs, () => this.#start())
      return
    }
    const run = new AbortController()
    this.#run = run
    this.#enter('starting')
    void this.#follow(run)
  }

  #stop(state: FeedState): void {
    if (this.#run === undefined) return
    this.#run.abort(new Error('the feed stops'))
    this.#enter(state)
  }

  /** A new run begins when the reflector has left the old one. */
  async #follow(run: AbortController): Promise<void> {
    const { logger, scope, clock } = this.#options
    try {
      // Each step has been taken by the time that it comes out here.
      await this.#reflector.run({}, run.signal)
    } catch (error) {
      if (!run.signal.aborted) {
        logger.error({ err: error, feed: describeScope(scope) }, 'a feed stopped by a defect')
        this.#restartAtMs = clock.monotonicMs() + this.#restarts.next(clock.monotonicMs())
        this.#enter('failing')
      }
    }
    this.#run = undefined
    this.#start()
  }

  /** In the turn in which the objects change: nobody finds them ahead of their history. */
  #step({ changes, synced, failure }: Step<KeptObject>): void {
    // Before anybody is told: who waits for the feed to be current looks then.
    if (failure === undefined) this.#hasHeard = true
    if (changes.length > 0 || this.#recordedVersion !== this.version) this.#took(changes, synced === true)
    if (synced === true) this.#enter('following', true)
    if (failure !== undefined) this.#failed(failure)
  }

  #took(changes: readonly Change<KeptObject>[], isSnapshot: boolean): void {
    const before = this.#recordedVersion
    this.#recordedVersion = this.version
    this.#bytes = isSnapshot ? bytesOf(this.objects.values()) : Math.max(0, this.#bytes + grownBy(changes))
    recordChanges(this.history, { changes, isSnapshot, before, after: this.version })
    this.#options.moved?.(this, changes, isSnapshot)
    this.#tell()
  }

  #failed({ error, kind }: Failure): void {
    const known = error instanceof Error ? error : new Error(String(error))
    this.#lastError = known
    this.#enter('failing')
    const code = findApiError(error)?.code
    const [sponsor] = this.#members
    if (sponsor === undefined) this.#stop('resting')
    else if (code === 401 || code === 403) this.#lose([sponsor], known)
    // There is no such collection any more: whoever asks for it by itself is told so in the API server's words.
    else if (code === 404 || code === 405) this.#lose([...this.#members], known)
    else if (kind === 'unreadable') this.#unreadable(known)
  }

  /** Others may read what cannot be read here: they go to the API server by themselves, and miss nothing. */
  #unreadable(error: Error): void {
    const { logger, scope } = this.#options
    this.#isUnreadable = true
    logger.warn({ err: error, feed: describeScope(scope) }, 'a collection cannot be read here; its readers are sent up')
    this.#lose([...this.#members], error)
  }

  #lose(members: readonly Member[], error: Error): void {
    for (const member of members) this.#leave(member)
    callAll(members.map((member) => () => member.lost(error)))
  }

  #leave(member: Member): void {
    const index = this.#members.indexOf(member)
    if (index < 0) return
    this.#members.splice(index, 1)
    if (this.#members.length === 0) {
      this.#cancelWait()
      this.#cancelWait = this.#options.clock.schedule(FEED_LINGER_MS, () => this.#stop('resting'))
    } else if (index === 0) {
      // What was opened with the credential of one who has gone is opened again with that of another.
      this.#stop('starting')
    }
  }

  #enter(state: FeedState, hasHeard = false): void {
    const { clock } = this.#options
    if (this.isCurrent) this.#currentAtMs = clock.nowMs()
    if (state === 'following') {
      this.#lastError = undefined
      this.#isUnreadable = false
    }
    if (this.#state === state) return
    if (state === 'following') {
      this.#followingMs = clock.monotonicMs()
      this.#hasHeard = hasHeard
    }
    this.#state = state
    this.#tell()
  }

  #tell(): void {
    callAll([...this.#listeners])
  }
}
