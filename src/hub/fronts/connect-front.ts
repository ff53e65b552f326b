/**
 * The HTTP CONNECT front: the control plane names a destination, the front answers 200 once the far end is connected, and from
 * then on passes bytes. What a kube-apiserver's EgressSelectorConfiguration calls `HTTPConnect`.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { RouteDialer } from '../routing/route-dialer.ts'
import { ConnectConnection } from './connect-connection.ts'
import type { FrontClient, FrontConnection } from './front-client.ts'
import { FrontDials } from './front-dials.ts'
import type { FrontMetrics } from './metrics.ts'

/** Within this the far end has connected, all attempts together: a reachable node on a slow link answers in two seconds. */
export const FRONT_DIAL_TIMEOUT_MS = 10_000
/** Dials under way at the same time: more than a control plane asks for unless everything hangs, and then it should hear so. */
export const MAX_PENDING_FRONT_DIALS = 2_000

export interface ConnectFrontOptions {
  readonly dialer: Pick<RouteDialer, 'dial'>
  readonly clock: Clock
  readonly metrics: FrontMetrics
  readonly logger: Logger
  readonly dialTimeoutMs?: number
  readonly maxPendingDials?: number
}

export class ConnectFront {
  /** The value of the label `front`. */
  static readonly label = 'connect'
  readonly #options: ConnectFrontOptions
  readonly #dials: FrontDials

  constructor(options: ConnectFrontOptions) {
    const { dialer, clock, metrics, logger } = options
    this.#options = options
    this.#dials = new FrontDials({
      front: ConnectFront.label,
      dialer,
      clock,
      metrics,
      logger,
      timeoutMs: options.dialTimeoutMs ?? FRONT_DIAL_TIMEOUT_MS,
      maxPending: options.maxPendingDials ?? MAX_PENDING_FRONT_DIALS,
    })
  }

  /** A `FrontHandler`. */
  serve(socket: Socket, client: FrontClient): FrontConnection {
    const { clock, metrics, logger } = this.#options
    const front = ConnectFront.label
    const connection = new ConnectConnection(socket, client, {
      clock,
      logger,
      rejected: (reason) => metrics.rejected.inc({ front, reason }),
      dial: (destination, signal) => this.#dials.dial(destination, client.source, signal),
      carried: ({ toSocketBytes, toTunnelBytes }) => {
        metrics.bytes.inc({ front, direction: 'to-edge' }, toTunnelBytes)
        metrics.bytes.inc({ front, direction: 'from-edge' }, toSocketBytes)
      },
    })
    connection.start()
    return connection
  }
}
