/**
 * The filters as the endpoint sees them: a plan for each request that one of them may be for. When the settings or the
 * endpoint's address change, a running watch that would now be answered otherwise ends with 410 Expired, so that its client
 * lists anew; and so does one that is resumed with what another view has shown.
 */

import { type DocumentFormat, documentFormat } from '../../kube/document-format.ts'
import type { WireError } from '../../protobuf/wire-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Components } from './component.ts'
import { isReadableEncoding } from './compression.ts'
import { type FilterEndpoint, type LocalPodsView, NO_LOCAL_PODS, type ObjectFilter } from './filter.ts'
import { activeFilters, type FilterSubject, isAtRest, subjectOf } from './filter-choice.ts'
import { OBJECT_FILTERS } from './filter-list.ts'
import type { FilterMetrics, UnfilteredReason } from './filter-metrics.ts'
import type { AnswerHead, BodyFilter, FilterPlan, FilterRequest } from './filter-plan.ts'
import type { FilterSettings } from './filter-settings.ts'
import { type FilterView, lastingText, textBefore, type ViewBefore, viewText } from './filter-view.ts'
import { HeldMemory } from './held-body.ts'
import { ObjectJudge } from './object-judge.ts'
import { RunningWatches } from './running-watches.ts'
import { ViewMemory } from './view-memory.ts'
import type { WatchBody } from './watch-body.ts'
import { WatchBodyFilter } from './watch-body-filter.ts'
import { WholeBodyFilter } from './whole-body-filter.ts'

/** Lines in the log about answers that no filter could read, per second: clients choose what they ask for. */
const UNFILTERED_ANSWERS_LOGGED_PER_SECOND = 1
/** How many lines about answers that no filter could read may follow one another at once. */
const UNFILTERED_ANSWERS_LOG_BURST = 20

export interface ResponseFiltersOptions {
  /** Where clients on this node are sent; undefined while there is no such place, and nothing is rewritten then. */
  readonly endpoint: () => FilterEndpoint | undefined
  /** Where the hub keeps its objects, unless `tokenNamespace` knows better. */
  readonly hubNamespace: string
  /** Where the hub keeps the account of kube-proxy, by the token it gave; undefined while there is none. */
  readonly tokenNamespace?: () => string | undefined
  /** There are none unless this says so. */
  readonly localPods?: LocalPodsView
  /** What clients saw in the run before; there was none unless this says so. */
  readonly before?: () => ViewBefore
  readonly settings: FilterSettings
  readonly metrics: FilterMetrics
  readonly clock: Clock
  readonly logger: Logger
  /** Others than those of the one list, and less memory than there is: for tests. */
  readonly filters?: readonly ObjectFilter[]
  readonly maxHeldBytes?: number
  readonly maxViews?: number
}

/** Memory of its own for callers who are what they say, so that nobody who only says so can take it from them. */
interface Shares<T> {
  readonly verified: T
  readonly claimed: T
}

export class ResponseFilters {
  readonly #options: ResponseFiltersOptions
  readonly #filters: readonly ObjectFilter[]
  readonly #localPods: LocalPodsView
  readonly #components: Components
  readonly #watches: RunningWatches
  readonly #memory: Shares<HeldMemory>
  readonly #views: Shares<ViewMemory>
  readonly #lines: LineLimit
  #settings: FilterSettings

  constructor(options: ResponseFiltersOptions) {
    this.#options = options
    this.#filters = options.filters ?? OBJECT_FILTERS
    this.#localPods = options.localPods ?? NO_LOCAL_PODS
    this.#components = new Components(() => options.tokenNamespace?.() ?? options.hubNamespace)
    this.#watches = new RunningWatches(options.metrics)
    const { maxHeldBytes, maxViews } = options
    this.#memory = { verified: new HeldMemory(maxHeldBytes), claimed: new HeldMemory(maxHeldBytes) }
    this.#views = { verified: new ViewMemory(maxViews), claimed: new ViewMemory(maxViews) }
    this.#settings = options.settings
    this.#lines = new LineLimit(options.clock, UNFILTERED_ANSWERS_LOGGED_PER_SECOND, UNFILTERED_ANSWERS_LOG_BURST)
  }

  /** undefined: the answer is no business of any filter. */
  async choose(request: FilterRequest): Promise<FilterPlan | undefined> {
    const subject = await subjectOf(request, this.#filters, this.#components, this.#settings)
    if (subject === undefined) return undefined
    const active = activeFilters(subject, this.#settings).filter((filter) => !isAtRest(filter, this.#localPods))
    const names = active.map(({ name }) => name)
    // Of disabled filters and of those at rest only watches matter: they may have something to do before it ends. A list passes as it is, whenever it comes.
    if (names.length === 0 && subject.verb !== 'watch') {
      this.#answered(subject, this.#viewOf(subject))
      return undefined
    }
    return { names, begin: (head) => this.#begin(subject, head) }
  }

  /** The names must be those of filters: see `readDisabledFilters`. */
  configure(settings: FilterSettings): void {
    this.#settings = settings
    this.#watches.expireChanged()
  }

  /** What clients see now. */
  get view(): FilterView {
    const { disabled } = this.#settings
    const filters = this.#filters.map(({ name }) => name).filter((name) => !disabled.includes(name))
    return { filters, endpoint: this.#options.endpoint(), localPods: this.#localPods.revision }
  }

  /** Bytes of answers that are in memory. */
  get heldBytes(): number {
    return this.#memory.verified.bytes + this.#memory.claimed.bytes
  }

  /** To be called when `endpoint()` has something else to say. */
  endpointChanged(): void {
    this.#watches.expireChanged()
  }

  /** To be called when something else is known of the pods of this node, before objects are told again. */
  localPodsChanged(): void {
    this.#watches.expireUntold()
  }

  /** The settings of now count, not those of when the request came: a slow answer may lie between them. */
  #begin(subject: FilterSubject, head: AnswerHead): BodyFilter | undefined {
    if (head.status !== 200) return undefined
    const format = documentFormat(head.contentType)
    if (format === undefined) return this.#unread(subject, 'media-type')
    if (!isReadableEncoding(head.contentEncoding)) return this.#unread(subject, 'encoding')
    return subject.verb === 'watch' ? this.#watch(subject, head, format) : this.#whole(subject, head, format)
  }

  #whole(subject: FilterSubject, head: AnswerHead, format: DocumentFormat): BodyFilter {
    const { metrics } = this.#options
    const view = this.#viewOf(subject)
    const filter = new WholeBodyFilter({
      head,
      format,
      judge: this.#judge(subject),
      name: subject.verb === 'get' ? subject.name : undefined,
      memory: this.#share(this.#memory, subject),
      metrics,
      unfiltered: (reason, error) => this.#unfiltered(subject, reason, error),
    })
    return {
      run: async (body) => {
        const filtered = await filter.run(body)
        this.#answered(subject, view)
        return filtered
      },
    }
  }

  #watch(subject: FilterSubject, head: AnswerHead, format: DocumentFormat): BodyFilter {
    const { metrics } = this.#options
    let isReported = false
    return new WatchBodyFilter({
      head,
      format,
      judge: this.#judge(subject),
      metrics,
      undecodable: (error) => {
        // One line a stream: whatever is wrong with one event is likely wrong with all.
        if (isReported) metrics.unfiltered('undecodable')
        else this.#unfiltered(subject, 'undecodable', error)
        isReported = true
      },
      begun: (body) => this.#watchBegun(subject, body, head.isRetold),
    })
  }

  #watchBegun(subject: FilterSubject, body: WatchBody, isRetold = (): boolean => false): void {
    const view = this.#viewOf(subject)
    const { reading, candidates } = subject
    const views = this.#share(this.#views, subject)
    this.#watches.add(body, {
      view: () => lastingText(this.view, candidates),
      showsLocalPods: () => activeFilters(subject, this.#settings).some(({ showsLocalPods }) => showsLocalPods),
      isRetold,
    })
    if (reading.kind !== 'resumed') this.#answered(subject, view)
    else if (views.isStale(reading.key, view, textBefore(this.#options.before?.(), candidates)))
      this.#watches.expire(body)
    // From here on it is known, whatever becomes of the settings.
    else views.answered(reading.key, view)
  }

  #answered(subject: FilterSubject, view: string): void {
    const { kind, key } = subject.reading
    const views = this.#share(this.#views, subject)
    if (kind === 'whole') views.answered(key, view)
    if (kind === 'page') views.continued(key, view)
  }

  #share<T>({ verified, claimed }: Shares<T>, { isVerified }: FilterSubject): T {
    return isVerified ? verified : claimed
  }

  #judge(subject: FilterSubject): ObjectJudge {
    const { endpoint, metrics } = this.#options
    const active = activeFilters(subject, this.#settings)
    return new ObjectJudge(subject.resource, active, endpoint(), this.#localPods, metrics)
  }

  #viewOf(subject: FilterSubject): string {
    return viewText(this.view, subject.candidates)
  }

  /** An answer that no filter can read counts as seen all the same: the client's watches are as unreadable, and a new list would change nothing. */
  #unread(subject: FilterSubject, reason: UnfilteredReason): undefined {
    this.#answered(subject, this.#viewOf(subject))
    return this.#unfiltered(subject, reason)
  }

  #unfiltered({ verb, resource, component }: FilterSubject, reason: UnfilteredReason, err?: WireError): undefined {
    this.#options.metrics.unfiltered(reason)
    const { logger } = this.#options
    const fields = { verb, resource: resource.resource, component, reason, err }
    const admitted = this.#lines.admit()
    if (admitted !== undefined) logger.warn({ ...fields, ...admitted }, 'an answer passed the filters as it was')
  }
}
