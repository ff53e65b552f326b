/**
 * Makes sessions of connections. Who is at the other end is found out first; until then not a byte of the connection is read,
 * and a peer that is turned away gets a go-away and nothing else. It can ask why over HTTP (GET /v1/node).
 */

import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Carrier } from '../../tunnel/carrier.ts'
import { SessionDriver } from '../../tunnel/session-driver.ts'
import { SocketCarrier } from '../../tunnel/socket-carrier.ts'
import { Budget } from '../../tunnel/yamux/budget.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Attempts } from '../join/attempts.ts'
import type { ConnectionHandler, HubConnection, OpenConnection } from '../port/connection.ts'
import { checkPeer, type EdgePeer } from '../port/peer-check.ts'
import { Refusal } from '../refusal.ts'
import type { EdgeSession } from './edge-session.ts'
import type { SessionMetrics } from './metrics.ts'
import { CHECK_IN_TIMEOUT_MS, MAX_SESSIONS, SESSION_DRAIN_MS } from './session-limits.ts'
import type { SessionRegistry } from './session-registry.ts'

export interface SessionHostOptions {
  /** One for each cluster behind the hub. */
  readonly registries: readonly SessionRegistry[]
  readonly attempts: Pick<Attempts, 'checkIn'>
  readonly metrics: SessionMetrics
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly maxSessions?: number
}

export interface CheckOutcome {
  /** May throw a `Refusal`, which is then told to `refused`. */
  readonly accepted: (peer: EdgePeer) => EdgeSession
  readonly refused: (refusal: Refusal) => void
}

export class SessionHost {
  readonly #options: SessionHostOptions
  readonly #registries: ReadonlyMap<Cluster, SessionRegistry>
  readonly #maxSessions: number

  constructor(options: SessionHostOptions) {
    this.#options = options
    this.#registries = new Map(options.registries.map((registry) => [registry.cluster, registry]))
    this.#maxSessions = options.maxSessions ?? MAX_SESSIONS
  }

  /** For the listener: connections that speak `causeway/1`. */
  readonly accept: ConnectionHandler = (connection) => {
    const { address } = connection.peer
    return this.adopt(
      connection,
      new SocketCarrier(connection.socket, `tls ${address}:${connection.socket.remotePort}`),
    )
  }

  /** Checks the peer, then begins its session over the carrier, or sends it away. */
  adopt(connection: HubConnection, carrier: Carrier): OpenConnection {
    return this.whenChecked(connection, {
      accepted: (peer) => this.begin(peer, connection, carrier),
      refused: () => this.#sendAway(carrier),
    })
  }

  /**
   * Checks the peer and calls one of the two, unless the connection is gone by then. Stopping the hub, and a check that takes
   * too long, cut a connection that has come no further.
   */
  whenChecked(connection: HubConnection, { accepted, refused }: CheckOutcome): OpenConnection {
    const { clock, metrics, net } = this.#options
    const { socket } = connection
    let session: EdgeSession | undefined
    const cancel = clock.schedule(CHECK_IN_TIMEOUT_MS, () => socket.destroy())
    socket.once('close', cancel)
    const answer = async (): Promise<void> => {
      try {
        const peer = await this.#check(connection)
        if (!socket.destroyed) session = accepted(peer)
      } catch (error) {
        const refusal = this.#refusalOf(error)
        metrics.refused.inc({ code: refusal.code })
        if (!socket.destroyed) refused(refusal)
      } finally {
        cancel()
      }
    }
    net.guard('session', () => void socket.destroy())(answer)
    return { drain: () => (session === undefined ? socket.destroy() : session.drain('hub-stopping', SESSION_DRAIN_MS)) }
  }

  /** For a peer that has been checked just now. */
  begin(peer: EdgePeer, connection: HubConnection, carrier: Carrier): EdgeSession {
    const { cluster } = connection.door
    const recheck = (): Promise<EdgePeer> => checkPeer(connection.peer, cluster, this.#options)
    return this.#registryOf(cluster).begin(peer, carrier, recheck)
  }

  async #check(connection: HubConnection): Promise<EdgePeer> {
    const { attempts, metrics } = this.#options
    const { peer, door } = connection
    const found = await attempts.checkIn(connection, () => checkPeer(peer, door.cluster, this.#options))
    let sessions = 0
    for (const { size } of this.#registries.values()) sessions += size
    if (sessions < this.#maxSessions) return found
    metrics.crossed('sessions')
    throw new Refusal('overloaded', `this hub has as many sessions as it may: ${this.#maxSessions}; try another`)
  }

  #registryOf(cluster: Cluster): SessionRegistry {
    const registry = this.#registries.get(cluster)
    if (registry === undefined) throw new Error(`cluster ${cluster.name} has no sessions`)
    return registry
  }

  #refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    this.#options.logger.error({ err: error }, 'a session could not be begun')
    return new Refusal('internal', 'the hub failed; its log says why', { cause: error })
  }

  #sendAway(carrier: Carrier): void {
    const handler = { onStream: () => {}, onEnd: () => {} }
    const { clock, net } = this.#options
    new SessionDriver({ role: 'server', carrier, clock, net, budget: new Budget(), handler }).close()
  }
}
