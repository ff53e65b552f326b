/**
 * What the endpoint and the filters say to each other. For each request the endpoint asks `ResponseFilters.choose` for a
 * plan. With a plan in hand it asks upstream for `accept-encoding: identity`, calls `begin` with the head of the answer
 * and sends what `run` gives instead of that answer. Without a plan, or where `begin` says undefined, the answer passes
 * as it came.
 */
import type { ByteSource } from '../../http/body/byte-source.ts'
import type { RequestInfo } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'

/** A request whose answer may be filtered. HEAD requests have no body to filter: do not ask for them. */
export interface FilterRequest {
  readonly info: RequestInfo
  readonly query: RequestQuery
  /** Who calls, in a text that is the same on all connections and never a secret. */
  readonly caller: string
  /** Whether the caller authenticated with this node's own client certificate. */
  readonly isNode: boolean
  /** Empty where there is none. */
  readonly userAgent: string
  /** The verified user name of the caller's token; undefined where it is unknown. Only called when it matters. */
  identify(): Promise<string | undefined>
}

/** The head of an upstream answer, and what the client can read. Strings are empty where there is no such header. */
export interface AnswerHead {
  readonly status: number
  readonly contentType: string
  readonly contentEncoding: string
  /** The client's own Accept-Encoding, not the one that was sent upstream. */
  readonly acceptEncoding: string
  /** Of a watch: whether objects are told again when they look different through a filter; absent: never. */
  readonly isRetold?: (() => boolean) | undefined
}

export interface FilterPlan {
  /** The filters that apply, in their order; empty for a watch that is only kept in sight for a change of settings. */
  readonly names: readonly string[]
  /** undefined: nothing to do with an answer of this kind, pass it on as it is. */
  begin(head: AnswerHead): BodyFilter | undefined
}

/** The answer to send. All other headers of the upstream answer stay; Content-Type does, too. */
export interface FilteredBody {
  /** As it came from upstream, or 404 where the object asked for is hidden from this client. */
  readonly status: number
  /** Takes the place of the Content-Encoding header; with `gzip` also add `Vary: Accept-Encoding`. */
  readonly contentEncoding: '' | 'gzip'
  /** Takes the place of the Content-Length header; undefined: there must be none. */
  readonly contentLength: number | undefined
  /** To be cancelled when the client goes: that cancels the upstream body as well. An upstream body that breaks breaks it. */
  readonly body: ByteSource
}

export interface BodyFilter {
  /**
   * Call once. Settles when the head of the answer is known: for a watch at once, else when the whole body is in.
   * Rejects with what broke the upstream body, or with an ApiError (429) to answer with where memory is short.
   */
  run(body: ByteSource): Promise<FilteredBody>
}
