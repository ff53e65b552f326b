/** The filters between an API server that answers with given bytes and a client that reads what it gets. */

import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import { createFilterMetrics } from '../../src/edge/filters/filter-metrics.ts'
import type { AnswerHead, FilteredBody, FilterPlan, FilterRequest } from '../../src/edge/filters/filter-plan.ts'
import { ResponseFilters, type ResponseFiltersOptions } from '../../src/edge/filters/response-filters.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { readRequest } from '../../src/kube/request-info.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { sourceOf, streamOf } from './byte-sources.ts'
import { endpoint } from './filters-objects.ts'

export class FilterWorld {
  readonly filters: ResponseFilters
  readonly registry = new Registry()
  readonly log: string[] = []
  endpoint: { address: string; port: number } | undefined = endpoint

  constructor(options: Partial<ResponseFiltersOptions> = {}) {
    const destination = { write: (line: string) => this.log.push(line) }
    this.filters = new ResponseFilters({
      endpoint: () => this.endpoint,
      hubNamespace: 'causeway-system',
      settings: { disabled: [] },
      metrics: createFilterMetrics(this.registry),
      clock: new ManualClock(),
      logger: createLogger({ level: 'debug', format: 'json', clock: new ManualClock(), destination }),
      ...options,
    })
  }

  choose(path: string, user: string, userAgent = 'test/1'): Promise<FilterPlan | undefined> {
    return this.filters.choose(filterRequest(path, user, userAgent))
  }

  /** Sends the chunks of a body through; they arrive one by one. */
  async answer(path: string, user: string, chunks: readonly Uint8Array[], head: Partial<AnswerHead>): Promise<Answer> {
    const plan = await this.choose(path, user)
    const filter = plan?.begin({ ...plainHead, ...head })
    if (filter === undefined) return { bytes: Buffer.concat(chunks), filtered: undefined }
    const filtered = await filter.run(sourceOf(arriving(chunks)))
    return { bytes: await buffer(streamOf(filtered.body)), filtered }
  }

  /** A watch that stays open. */
  async watch(path: string, user: string, contentType: string, isRetold?: () => boolean): Promise<OpenWatch> {
    const plan = await this.choose(path, user)
    const upstream = new PassThrough()
    const filtered = await plan
      ?.begin({ ...plainHead, contentType, isRetold })
      ?.run(sourceOf(upstream, 'the watch was cut upstream'))
    if (filtered === undefined) throw new Error('not filtered')
    const body = streamOf(filtered.body)
    // Its client reads from the beginning.
    body.read(0)
    return { upstream, filtered: { ...filtered, body } }
  }

  async counted(name: string, labels: Record<string, string> = {}): Promise<number> {
    const metric = await this.registry.getSingleMetric(name)?.get()
    const found = metric?.values.find((value) =>
      Object.entries(labels).every(([key, text]) => value.labels[key] === text),
    )
    return found?.value ?? 0
  }
}

export interface Answer {
  readonly bytes: Buffer
  readonly filtered: FilteredBody | undefined
}

export interface OpenWatch {
  readonly upstream: PassThrough
  readonly filtered: Omit<FilteredBody, 'body'> & { readonly body: Readable }
}

const plainHead: AnswerHead = { status: 200, contentType: 'application/json', contentEncoding: '', acceptEncoding: '' }

export function filterRequest(path: string, user: string, userAgent = 'test/1'): FilterRequest {
  return {
    ...readRequest({ method: 'GET', path }),
    caller: user,
    isNode: user === 'node',
    userAgent,
    identify: async () => (user === '' ? undefined : user),
  }
}

export function arriving(chunks: readonly Uint8Array[]): Readable {
  return Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  )
}

/** The bytes cut at these points, taken modulo their length. */
export function cutAt(bytes: Uint8Array, points: readonly number[]): Uint8Array[] {
  const sorted = points.map((point) => point % (bytes.length + 1)).toSorted((a, b) => a - b)
  return [0, ...sorted].map((point, index) => bytes.subarray(point, sorted[index] ?? bytes.length))
}

/** One line of a watch. */
export function jsonEvent(type: string, object: KubeObject): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`)
}
