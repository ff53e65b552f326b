/** The port that hands requests in, each with a context of its own. */
import type { Exchange } from '../http/server/exchange.ts'
import { MAX_CONNECTIONS } from '../http/server/limits.ts'
import { Listener, type TlsFiles } from '../http/server/listener.ts'
import { stalledReaderLog } from '../http/server/stalled-reader-log.ts'
import { UNREAD_REQUEST } from '../kube/request-info.ts'
import type { ListenAddress } from '../network/listen.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { turnFor } from '../runtime/turns.ts'
import type { Logger } from '../telemetry/logger.ts'
import { DEFAULT_CONNECTIONS_PER_ADDRESS } from './connection-limit.ts'
import type { AccessMetrics } from './metrics/access-metrics.ts'
import type { Handler, RequestContext } from './request/handler.ts'
import { anonymousUser } from './request/user.ts'

export interface ApiListenerOptions {
  readonly address: ListenAddress
  readonly tls: TlsFiles
  readonly clock: Clock
  readonly net: SafetyNet
  readonly logger: Logger
  readonly metrics: AccessMetrics
  /** 0 for as many as there may be in all; absent: the default. */
  readonly maxConnectionsPerAddress: number | undefined
  readonly handler: Handler
}

export function composeListener(options: ApiListenerOptions): Listener {
  const { address, tls, clock, net, logger, metrics, handler } = options
  const { maxConnectionsPerAddress: perAddress = DEFAULT_CONNECTIONS_PER_ADDRESS } = options
  const tellStalled = stalledReaderLog(logger, clock)
  return new Listener({
    address,
    tls,
    clock,
    net,
    maxConnectionsPerAddress: perAddress === 0 ? MAX_CONNECTIONS : perAddress,
    handshakeFailed: () => metrics.handshakeFailed(),
    connectionRefused: () => metrics.connectionRefused(),
    readerStalled: (unsentBytes) => {
      metrics.readerStalled()
      tellStalled(unsentBytes)
    },
    serve: (exchange) => handler(newContext(exchange, clock)),
  })
}

/** A request that has just arrived, before any filter has seen it: unread, and nobody's. */
function newContext(exchange: Exchange, clock: Clock): RequestContext {
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
