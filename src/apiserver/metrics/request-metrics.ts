/**
 * What the API server says about requests, under the names that dashboards for kube-apiserver look for. Unlike there,
 * requests that a filter answered (401, 403, 429) are counted too.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { RequestInfo } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import type { RequestContext } from '../request/handler.ts'
import { REQUEST_LABEL_NAMES, type RequestLabels, requestLabels } from './request-labels.ts'

/** kube-apiserver's own, so that queries over both make sense. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/** A request without an answer: its client went away first. */
const noAnswer = '0'

/** The metrics of all requests with the same labels, looked up once: finding them by label costs more than counting. */
interface Series {
  readonly duration: Histogram.Internal<string>
  readonly size: Histogram.Internal<string>
  readonly byCode: Map<string, Counter.Internal>
}

export class RequestMetrics {
  readonly #total: Counter
  readonly #duration: Histogram
  readonly #size: Histogram
  readonly #inFlight: Gauge
  readonly #longRunning: Gauge
  /** As many as there are labels: the catalogue bounds it. */
  readonly #series = new Map<string, Series>()

  constructor(registry: Registry) {
    const registers = [registry]
    this.#total = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests that have ended, by what they were and the HTTP status they got; 0 if the client left before.',
      labelNames: [...REQUEST_LABEL_NAMES, 'code'],
      registers,
    })
    this.#duration = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the head of a request to the end of its handling.',
      labelNames: [...REQUEST_LABEL_NAMES],
      buckets: durationBuckets,
      registers,
    })
    this.#size = new Histogram({
      name: 'apiserver_response_sizes',
      help: 'Bytes of response bodies as sent, after compression; streams are left out.',
      labelNames: [...REQUEST_LABEL_NAMES],
      buckets: sizeBuckets,
      registers,
    })
    this.#inFlight = new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests under way against the limits on reads (readOnly) and writes (mutating).',
      labelNames: ['request_kind'],
      registers,
    })
    this.#longRunning = new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Watches and other requests without a deadline that are under way.',
      labelNames: [...REQUEST_LABEL_NAMES],
      registers,
    })
  }

  ended({ info, query, answer }: Pick<RequestContext, 'info' | 'query' | 'answer'>, seconds: number): void {
    const labels = requestLabels(info, query)
    const series = this.#seriesOf(labels)
    series.duration.observe(seconds)
    if (answer?.bodyBytes !== undefined) series.size.observe(answer.bodyBytes)
    this.#counterOf(series, labels, answer === undefined ? noAnswer : String(answer.status)).inc()
  }

  inFlight(kind: 'readOnly' | 'mutating', count: number): void {
    this.#inFlight.set({ request_kind: kind }, count)
  }

  /** Returns what is to be called when the request ends. */
  longRunning(info: RequestInfo, query: RequestQuery): () => void {
    const gauge = this.#longRunning.labels({ ...requestLabels(info, query) })
    gauge.inc()
    return () => gauge.dec()
  }

  #seriesOf(labels: RequestLabels): Series {
    const key = Object.values(labels).join('|')
    let series = this.#series.get(key)
    if (series === undefined) {
      const duration = this.#duration.labels({ ...labels })
      series = { duration, size: this.#size.labels({ ...labels }), byCode: new Map() }
      this.#series.set(key, series)
    }
    return series
  }

  #counterOf({ byCode }: Series, labels: RequestLabels, code: string): Counter.Internal {
    let counter = byCode.get(code)
    if (counter === undefined) {
      counter = this.#total.labels({ ...labels, code })
      byCode.set(code, counter)
    }
    return counter
  }
}
