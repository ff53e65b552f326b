/** A request that has just arrived, before any filter has seen it: unread, and nobody's. */
import type { Exchange } from '../../http/server/exchange.ts'
import { UNREAD_REQUEST } from '../../kube/request-info.ts'
import type { Clock } from '../../runtime/clock.ts'
import { turnFor } from '../../runtime/turns.ts'
import type { RequestContext } from './handler.ts'
import { anonymousUser } from './user.ts'

export function newContext(exchange: Exchange, clock: Clock): RequestContext {
  return {
    exchange,
    receivedMs: clock.nowMs(),
    responseHeaders: {},
    warnings: new Set(),
    auditId: '',
    info: UNREAD_REQUEST.info,
    query: UNREAD_REQUEST.query,
    user: anonymousUser,
    turn: () => turnFor(clock),
    signal: exchange.closed,
  }
}
