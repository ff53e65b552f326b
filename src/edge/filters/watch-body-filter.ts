/** Filters the answer to a watch. It is never compressed: events are small, and each has to be sent at once. */
import type { ByteSource } from '../../http/body/byte-source.ts'
import type { DocumentFormat } from '../../kube/document-format.ts'
import type { WireError } from '../../protobuf/wire-error.ts'
import { decompressed } from './compression.ts'
import type { FilterMetrics } from './filter-metrics.ts'
import type { AnswerHead, BodyFilter, FilteredBody } from './filter-plan.ts'
import type { ObjectJudge } from './object-judge.ts'
import { WatchBody } from './watch-body.ts'

export interface WatchBodyFilterOptions {
  readonly head: AnswerHead
  readonly format: DocumentFormat
  readonly judge: ObjectJudge
  readonly metrics: FilterMetrics
  readonly undecodable: (error: WireError) => void
  /** Called with the stream that runs from now on. */
  readonly begun: (body: WatchBody) => void
}

export class WatchBodyFilter implements BodyFilter {
  readonly #options: WatchBodyFilterOptions

  constructor(options: WatchBodyFilterOptions) {
    this.#options = options
  }

  async run(source: ByteSource): Promise<FilteredBody> {
    const { head, begun, ...options } = this.#options
    const body = new WatchBody(decompressed(source, head.contentEncoding), options)
    begun(body)
    return { status: head.status, contentEncoding: '', contentLength: undefined, body }
  }
}
