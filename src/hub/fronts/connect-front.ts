/**
 * The HTTP CONNECT front: the control plane names a destination, the front answers 200 once the far end is connected, and from
 * then on passes bytes. What a kube-apiserver's EgressSelectorConfiguration calls `HTTPConnect`.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../telemetry/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { DialedRoute, RouteDialer } from '../routing/route-dialer.ts'
import { ConnectConnection, type FrontDial } from './connect-connection.ts'
import type { FrontClient, FrontConnection } from './front-client.ts'
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
  #pendingDials = 0

  constructor(options: ConnectFrontOptions) {
    this.#options = options
  }

  /** A `FrontHandler`. */
  serve(socket: Socket, client: FrontClient): FrontConnection {
    const { clock, metrics, logger } = this.#options
    const connection = new ConnectConnection(socket, client, {
      clock,
      logger,
      rejected: (reason) => metrics.rejected.inc({ front: ConnectFront.label, reason }),
      dial: (request) => this.#dial(request),
      carried: ({ toSocketBytes, toTunnelBytes }) => {
        metrics.bytes.inc({ front: ConnectFront.label, direction: 'to-edge' }, toTunnelBytes)
        metrics.bytes.inc({ front: ConnectFront.label, direction: 'from-edge' }, toSocketBytes)
      },
    })
    connection.start()
    return connection
  }

  /** Rejects with an `OpenError`. Every dial leaves a line in the log and one count. */
  async #dial({ host, port, source, signal }: FrontDial): Promise<DialedRoute> {
    const { clock, dialer, logger, metrics } = this.#options
    const { dialTimeoutMs = FRONT_DIAL_TIMEOUT_MS, maxPendingDials = MAX_PENDING_FRONT_DIALS } = this.#options
    const front = ConnectFront.label
    const beginMs = clock.monotonicMs()
    const told = { front, source, host, port }
    this.#pendingDials += 1
    try {
      if (this.#pendingDials > maxPendingDials)
        throw new OpenError('overloaded', `${maxPendingDials} connections are being opened already; try again later`)
      const dialed = await dialer.dial(host, port, { deadlineMs: dialTimeoutMs, source, signal })
      const tookMs = clock.monotonicMs() - beginMs
      metrics.dials.inc({ front, code: 'ok' })
      metrics.dialSeconds.observe({ front }, tookMs / 1000)
      logger.debug({ ...told, node: dialed.node, tookMs }, 'connected for the control plane')
      return dialed
    } catch (error) {
      if (!(error instanceof OpenError)) throw error
      metrics.dials.inc({ front, code: error.code })
      logger.info({ ...told, code: error.code, reason: error.message }, 'not connected for the control plane')
      throw error
    } finally {
      this.#pendingDials -= 1
    }
  }
}
