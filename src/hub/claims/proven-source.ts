/**
 * The claims as a source for a reflector that keeps proving it is up to date: watches are short, so that a new one has to be
 * answered every few seconds, and nothing is waited for longer than that.
 */
import type { CallOptions, ListQuery, WatchQuery } from '../../kube/client/options.ts'
import { TransportError } from '../../kube/client/transport-error.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import type { WatchEvent } from '../../kube/objects.ts'
import type { ReflectorSource, WatchSource } from '../../kube/reflector/reflector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { CLAIM_LABEL } from '../shared/names.ts'
import { CLAIMS_ANSWER_TIMEOUT_MS, CLAIMS_WATCH_SECONDS, type Freshness } from './freshness.ts'

const initialEventsEnd = 'k8s.io/initial-events-end'
const labelSelector = CLAIM_LABEL
const watchMs = CLAIMS_WATCH_SECONDS * 1000

export class ProvenSource implements ReflectorSource<ConfigMap> {
  readonly #maps: ReflectorSource<ConfigMap>
  readonly #clock: Clock
  readonly #freshness: Freshness

  constructor(maps: ReflectorSource<ConfigMap>, clock: Clock, freshness: Freshness) {
    this.#maps = maps
    this.#clock = clock
    this.#freshness = freshness
  }

  list(query: ListQuery, call: CallOptions) {
    return this.#inTime(call, (limited) => this.#maps.list({ ...query, labelSelector }, limited))
  }

  /** A watch from a version that is answered proves the view: what it lacks comes with the answer. */
  async watch(query: WatchQuery, call: CallOptions): Promise<WatchSource<ConfigMap>> {
    const isSnapshot = query.sendInitialEvents === true
    const wanted = isSnapshot ? query : { ...query, timeoutSeconds: CLAIMS_WATCH_SECONDS }
    const askedMs = this.#clock.monotonicMs()
    const watch = await this.#inTime(call, (limited) => this.#maps.watch({ ...wanted, labelSelector }, limited))
    if (!isSnapshot) this.#freshness.proven(askedMs)
    return new ProvenWatch(watch, this.#clock, this.#freshness, isSnapshot)
  }

  /** The signal ends the waiting for an answer, not what comes after it. */
  async #inTime<T>(call: CallOptions, work: (limited: CallOptions) => Promise<T>): Promise<T> {
    const limit = new AbortController()
    const seconds = CLAIMS_ANSWER_TIMEOUT_MS / 1000
    const late = new TransportError('headers-timeout', `the API server did not answer within ${seconds} seconds`)
    const cancel = this.#clock.schedule(CLAIMS_ANSWER_TIMEOUT_MS, () => limit.abort(late))
    try {
      return await work({ ...call, signal: AbortSignal.any([limit.signal, ...(call.signal ? [call.signal] : [])]) })
    } catch (error) {
      throw limit.signal.aborted && call.signal?.aborted !== true ? late : error
    } finally {
      cancel()
    }
  }
}

/** Ends by itself if the server does not end it. */
class ProvenWatch implements WatchSource<ConfigMap> {
  readonly #watch: WatchSource<ConfigMap>
  readonly #clock: Clock
  readonly #freshness: Freshness
  /** The view is not complete before the whole snapshot has come, which may take its time. */
  #isComplete: boolean
  #cancel: () => void = () => {}

  constructor(watch: WatchSource<ConfigMap>, clock: Clock, freshness: Freshness, isSnapshot: boolean) {
    this.#watch = watch
    this.#clock = clock
    this.#freshness = freshness
    this.#isComplete = !isSnapshot
    // The server ends it first, unless it is cut off; ending it from here costs the connection.
    if (this.#isComplete) this.#endAfter(watchMs + CLAIMS_ANSWER_TIMEOUT_MS)
  }

  close(): void {
    this.#cancel()
    this.#watch.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<ConfigMap>, void, undefined> {
    try {
      for await (const event of this.#watch) {
        yield event
        this.#seen(event)
      }
    } finally {
      this.#cancel()
    }
  }

  /** Once the reflector asks for the next event it has taken in this one. */
  #seen({ type, object }: WatchEvent<ConfigMap>): void {
    const isEnd = type === 'BOOKMARK' && object.metadata?.annotations?.[initialEventsEnd] === 'true'
    if (isEnd && !this.#isComplete) {
      this.#isComplete = true
      this.#endAfter(watchMs)
    }
    if (this.#isComplete) this.#freshness.proven(this.#clock.monotonicMs())
  }

  #endAfter(durationMs: number): void {
    this.#cancel = this.#clock.schedule(durationMs, () => this.#watch.close())
  }
}
