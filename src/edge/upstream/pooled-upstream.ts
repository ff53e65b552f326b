/**
 * The API server for the endpoint: three pools of HTTP/2 connections that never share one, and a connection of its own for
 * each upgrade. Only the pool `node` presents the node's certificate.
 */
import type { Registry } from 'prom-client'
import type { ClientPair } from '../../network/tls/client-tls.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { type ApiServer, connectToApiServer, type SecuredConnection } from './api-server-connection.ts'
import { upgradeOn } from './h1-upgrade.ts'
import { H2Pool, type H2PoolOptions } from './h2-pool.ts'
import {
  type PoolName,
  type UpgradeAnswer,
  type Upstream,
  type UpstreamAnswer,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamStatus,
} from './upstream.ts'
import { createUpstreamMetrics, type UpstreamMetrics } from './upstream-metrics.ts'

/** Upgraded connections at a time; each is a person at a terminal, a copy, or a forwarded port. */
const MAX_UPSTREAM_UPGRADES = 1_024

export interface PooledUpstreamOptions extends ApiServer {
  /** The node's Kubernetes client certificate as it is now; absent before there is one. */
  readonly nodePair: () => ClientPair | undefined
  /** The round trip of the link, where it is known. */
  readonly rttMs: () => number | undefined
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
  readonly limits?: NonNullable<H2PoolOptions['limits']> & { readonly maxUpgrades?: number }
}

export class PooledUpstream implements Upstream, Part {
  readonly name = 'upstream'
  readonly #options: PooledUpstreamOptions
  readonly #metrics: UpstreamMetrics
  readonly #pools: Readonly<Record<PoolName, H2Pool>>
  readonly #upgrades = new Set<SecuredConnection>()
  #openingUpgrades = 0

  constructor(options: PooledUpstreamOptions) {
    const { registry, rttMs, limits } = options
    this.#options = options
    this.#metrics = createUpstreamMetrics(registry, () => ({
      pools: Object.values(this.#pools).map((pool) => ({ ...pool.status, windowBytes: pool.windowBytes })),
      upgrades: this.#upgrades.size,
    }))
    const logger = componentLogger(options.logger, 'edge/upstream')
    const shared = {
      server: options,
      rttMs,
      logger,
      net: options.net,
      metrics: this.#metrics,
      limits,
    }
    this.#pools = {
      node: new H2Pool({ ...shared, name: 'node', pair: () => this.#nodePair() }),
      token: new H2Pool({ ...shared, name: 'token' }),
      open: new H2Pool({ ...shared, name: 'open' }),
    }
  }

  get status(): UpstreamStatus {
    return { pools: Object.values(this.#pools).map(({ status }) => status), upgrades: this.#upgrades.size }
  }

  /** Resolves at once: connections are made when they are needed. Stopping cuts what is left; clients are drained before. */
  async start(): Promise<RunningPart> {
    return {
      stop: async () => {
        for (const pool of Object.values(this.#pools)) pool.close()
        for (const { socket } of this.#upgrades) socket.destroy()
      },
    }
  }

  /** What the connections are carried by may be another. */
  waysChanged(): void {
    for (const pool of Object.values(this.#pools)) pool.leaveOldWays()
  }

  request(request: UpstreamRequest): Promise<UpstreamAnswer> {
    return this.#pools[request.pool].request(request)
  }

  async upgrade(request: UpstreamRequest): Promise<UpstreamAnswer | UpgradeAnswer> {
    const { maxUpgrades = MAX_UPSTREAM_UPGRADES } = this.#options.limits ?? {}
    if (this.#upgrades.size + this.#openingUpgrades >= maxUpgrades)
      throw new UpstreamError('overloaded', `${maxUpgrades} upgraded connections to the API server are open`)
    const secured = await this.#connectForUpgrade(request)
    this.#upgrades.add(secured)
    this.#options.net.watch(secured.socket, 'connection')
    secured.socket.once('close', () => this.#upgrades.delete(secured))
    return await upgradeOn(secured, this.#options.serverName, request)
  }

  async #connectForUpgrade({ pool, signal }: UpstreamRequest): Promise<SecuredConnection> {
    this.#openingUpgrades += 1
    try {
      const pair = pool === 'node' ? this.#nodePair() : undefined
      const secured = await connectToApiServer(this.#options, { protocol: 'http/1.1', pair, signal })
      this.#metrics.opened('upgrade', 'ok')
      return secured
    } catch (error) {
      this.#metrics.opened('upgrade', error instanceof UpstreamError ? error.kind : 'cancelled')
      throw error
    } finally {
      this.#openingUpgrades -= 1
    }
  }

  #nodePair(): ClientPair {
    const pair = this.#options.nodePair()
    if (pair !== undefined) return pair
    throw new UpstreamError(
      'unreachable',
      'this node has no Kubernetes client certificate yet, so it cannot be spoken for',
    )
  }
}
