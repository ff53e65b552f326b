/** Filters the answer to a get or a list. */
import type { ByteSource } from '../../http/body/byte-source.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import type { DocumentFormat } from '../../kube/document-format.ts'
import { splitApiVersion } from '../../kube/schema/catalogue.ts'
import { tooManyRequests } from '../../kube/status/availability-errors.ts'
import { notFound } from '../../kube/status/resource-errors.ts'
import type { DocumentWalker } from '../../kube/walker/walker.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { FilterMetrics } from './filter-metrics.ts'
import type { AnswerHead, BodyFilter, FilteredBody } from './filter-plan.ts'
import { HELD_BODY_RETRY_SECONDS, HeldBody, type HeldMemory, MAX_HELD_BODY_BYTES, sendBody } from './held-body.ts'
import { filterObject } from './object-body.ts'
import type { ObjectJudge } from './object-judge.ts'

export interface WholeBodyOptions {
  readonly head: AnswerHead
  readonly format: DocumentFormat
  readonly judge: ObjectJudge
  /** The object that is asked for; undefined for a list. */
  readonly name: string | undefined
  readonly memory: HeldMemory
  readonly metrics: FilterMetrics
  readonly maxBytes?: number
  readonly unfiltered: (reason: 'undecodable' | 'too-large', error?: WireError) => void
}

export class WholeBodyFilter implements BodyFilter {
  readonly #options: WholeBodyOptions

  constructor(options: WholeBodyOptions) {
    this.#options = options
  }

  async run(source: ByteSource): Promise<FilteredBody> {
    const { head, memory, metrics, maxBytes = MAX_HELD_BODY_BYTES } = this.#options
    const body = new HeldBody(source, head.contentEncoding, memory)
    const held = await body.hold(maxBytes)
    if (held === 'all') return this.#filtered(body)
    if (held === 'more-than-allowed') return this.#tooLarge(body)
    metrics.refused()
    throw tooManyRequests('too many large answers are being filtered, please try again later', HELD_BODY_RETRY_SECONDS)
  }

  #filtered(held: HeldBody): FilteredBody {
    const { head, metrics } = this.#options
    try {
      const document = held.take()
      const filtered = document.length === 0 ? document : this.#filter(document)
      const bytes = filtered ?? this.#notFound()
      metrics.passed(document.length, bytes.length)
      const body = new BytesSource(bytes, () => held.cancel())
      return sendBody(body, head, filtered === null ? 404 : head.status, bytes.length)
    } catch (error) {
      held.cancel()
      throw error
    }
  }

  #tooLarge(held: HeldBody): FilteredBody {
    const { head, unfiltered } = this.#options
    unfiltered('too-large')
    return sendBody(held, head, head.status, undefined)
  }

  #filter(document: Uint8Array): Uint8Array | null {
    const { format, judge, name, unfiltered } = this.#options
    try {
      return name === undefined
        ? filterList(format.walker, document, judge)
        : filterObject(format.walker, document, judge)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      unfiltered('undecodable', error)
      return document
    }
  }

  #notFound(): Uint8Array {
    const { format, judge, name = '' } = this.#options
    const { apiVersion, resource } = judge.resource
    return format.encodeStatus(notFound({ group: splitApiVersion(apiVersion).group, resource }, name).status)
  }
}

/** The list without what is hidden; the same document where nothing in it changes. Objects that no filter touches keep their bytes. Throws a WireError. */
function filterList(walker: DocumentWalker, document: Uint8Array, judge: ObjectJudge): Uint8Array {
  if (!judge.covers(walker.typeOf(document), 'List')) return document
  return walker.mapItems(document, (item) =>
    judge.covers(item.type) ? judge.apply(item, (edits) => item.edit(edits)) : undefined,
  )
}
