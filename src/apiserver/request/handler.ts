/** The one signature of everything that a request passes through. */

import type { Exchange, ResponseHeaders } from '../../http/server/exchange.ts'
import type { RequestInfo } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import type { Status } from '../../kube/status/status.ts'
import type { Decision } from './authorizer.ts'
import type { UserInfo } from './user.ts'

/**
 * A request on its way. Filters fill it in from the outside to the inside: what a filter promises to set may be relied on
 * by every filter after it, in the order of `compose.ts`.
 */
export interface RequestContext {
  readonly exchange: Exchange
  readonly receivedMs: number
  /** Headers that every response of this request carries, errors too. */
  readonly responseHeaders: ResponseHeaders
  /** Texts for `Warning` headers, each once. */
  readonly warnings: Set<string>
  auditId: string
  /** Set, with `query`, by the request info filter: the one reading of the target. */
  info: RequestInfo
  query: RequestQuery
  /** Set by the authentication filter; anonymous before. After impersonation, whom the caller plays. */
  user: UserInfo
  /** Who really asks, where `user` is somebody that the caller plays. */
  impersonator?: UserInfo
  /** What authorization said; absent when nobody got to ask. */
  decision?: Decision
  /** Of the object that a create made; the path does not say it. */
  createdName?: string
  /** Set when the head of the response is sent. */
  answer?: Answer
  /** Called when the head of a stream is sent; its end is far. */
  onStream?: () => void
  /** The Status that was sent instead of what the client wanted. */
  failure?: Status
  /** To be awaited before work of some length that follows a wait for the client: many bodies may be complete at once. */
  turn(): Promise<void> | undefined
  /** Aborts when the client has gone or the time is up; work that nobody waits for should stop then. */
  signal: AbortSignal
}

/** What was sent back. */
export interface Answer {
  readonly status: number
  /** Absent for a stream. */
  readonly bodyBytes?: number
}

export type Handler = (context: RequestContext) => Promise<void>

/** Wraps the handlers after it. */
export type Filter = (next: Handler) => Handler

/** Puts filters around a handler; the first one is the outermost. */
export function chain(filters: readonly Filter[], handler: Handler): Handler {
  return filters.reduceRight((next, filter) => filter(next), handler)
}
