/**
 * The edge as one part of a process: finds out who it is, joins if it must, keeps that identity good, and holds the links to
 * its hubs. Without a link it starts all the same, with what is on its disk.
 */

import { randomInt } from 'node:crypto'
import type { Registry } from 'prom-client'
import { keyExposure } from '../identity/key-exposure.ts'
import type { CertificatePair } from '../identity/pair-file.ts'
import type { Dial } from '../kube/client/connector.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import { startInOrder } from '../process/part-group.ts'
import { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { ExplainedError } from '../runtime/explained-error.ts'
import { HEALTHY, type Health, unhealthy } from '../telemetry/health.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { composeEdgeNetwork, type EdgeNetwork, type EdgeNetworkSettings, type EdgeNetworkStatus } from './compose.ts'
import type { ClusterPins, EdgeEndpointStatus } from './compose-endpoint.ts'
import type { FilterSettings } from './filters/filter-settings.ts'
import { HubClient } from './hub/hub-client.ts'
import { parseHubUrls } from './hub/hub-url.ts'
import {
  type BroughtCluster,
  BroughtKeeper,
  type BroughtPaths,
  readBroughtCluster,
  readBroughtIdentity,
} from './identity/brought.ts'
import { EdgeFiles } from './identity/edge-files.ts'
import {
  type EdgeIdentity,
  EdgeIdentityError,
  type JoinedIdentity,
  loadJoinedIdentity,
} from './identity/edge-identity.ts'
import { createKeeperMetrics, type KeeperMetrics } from './identity/keeper-metrics.ts'
import { type JoinProgress, type JoinResult, joinHub } from './join/join.ts'
import type { TokenSource } from './join/token-source.ts'
import { eraseReplica } from './keeping/replica-files.ts'
import type { LinkIdentity } from './link/dial-session.ts'
import { createHubDial } from './link/hub-dial.ts'
import type { FeedSummary } from './replica/replica-status.ts'
import { CheckIn } from './rotation/check-in.ts'
import { createEdgeKeeper, rejoinAdvice } from './rotation/edge-keeper.ts'

export interface EdgeOptions {
  readonly dataDir: string
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  /** Addresses of the hub; needed to join, and with certificates of one's own. */
  readonly hubs: readonly string[]
  readonly node?: string | undefined
  /** The name if neither `node` nor the token says one. */
  readonly fallbackNode?: string
  /** Present: join if there is no good identity yet. */
  token?: (() => Promise<TokenSource>) | undefined
  /** Present: use these instead of joining. */
  readonly brought?: BroughtPaths | undefined
  /** With `brought`: how the API server is known; without it there is no endpoint. */
  readonly broughtCluster?: BroughtCluster | undefined
  readonly onJoinProgress?: (progress: JoinProgress) => void
  readonly network: EdgeNetworkSettings
}

class NotJoinedError extends ExplainedError {
  override readonly name = 'NotJoinedError'
}

/** What both ways to an identity end in. */
interface KeptIdentity {
  readonly identity: EdgeIdentity
  readonly hubs: readonly string[]
  readonly health: () => Health
  readonly trust: LinkIdentity['trust']
  readonly pair: () => CertificatePair | undefined
  readonly client: HubClient
  readonly cluster: ClusterPins | undefined
  readonly rejoinAdvice: string
  readonly parts: readonly Part[]
}

export interface EdgeStatus {
  readonly node: string
  readonly hubs: readonly string[]
  readonly certificateEnds: string | undefined
  /** For how long the endpoint could serve without a link, by its certificates; absent where it could not, or there is none. */
  readonly goodOfflineUntil: string | undefined
  readonly identity: Health
  readonly network: EdgeNetworkStatus
  readonly endpoint: EdgeEndpointStatus | undefined
}

export class Edge implements Part {
  readonly name = 'edge'
  readonly #options: EdgeOptions
  readonly #dial: Dial
  readonly #net: SafetyNet
  #kept: KeptIdentity | undefined
  #network: EdgeNetwork | undefined

  constructor(options: EdgeOptions) {
    const logger = componentLogger(options.logger, 'edge')
    // Under everything that a peer sets off, timers included.
    this.#net = new SafetyNet({ ...options, logger })
    this.#options = { ...options, clock: this.#net.timers(options.clock) }
    this.#dial = createHubDial(this.#options.clock, options.network)
  }

  /** Whether the hub may take this node for who it is. Not whether there is a link: an edge is ready without one. */
  health(): Health {
    const identity = this.#kept?.health() ?? unhealthy('not started')
    return identity.ok ? (this.#network?.health() ?? identity) : identity
  }

  /** Whether programs of this node get an API server here. */
  endpointHealth(): Health {
    if (this.#network === undefined) return unhealthy('not started')
    return this.#network.endpoint?.health() ?? HEALTHY
  }

  /** Whether the token file for kube-proxy is good, where the edge keeps one. */
  kubeProxyTokenHealth(): Health {
    if (this.#network === undefined) return unhealthy('not started')
    return this.#network.endpoint?.kubeProxyTokenHealth() ?? HEALTHY
  }

  /** Counts at once, for running watches too. */
  configureFilters(settings: FilterSettings): void {
    this.#network?.endpoint?.configureFilters(settings)
  }

  get status(): EdgeStatus {
    if (this.#kept === undefined || this.#network === undefined) throw new Error('the edge has not been started')
    const { identity, hubs, pair, health } = this.#kept
    const endsMs = pair()?.chain[0].notAfterMs
    const certificateEnds = endsMs === undefined ? undefined : new Date(endsMs).toISOString()
    const { endpoint, ...network } = this.#network
    const endpointStatus = endpoint?.status()
    return {
      node: identity.node,
      hubs,
      certificateEnds,
      goodOfflineUntil: endpointStatus?.certificates.goodOfflineUntil,
      identity: health(),
      network: network.status(),
      endpoint: endpointStatus,
    }
  }

  /** All that is kept for when the link is down; nothing where nobody plays API server. */
  get feeds(): FeedSummary[] {
    return this.#network?.endpoint?.summarizeFeeds() ?? []
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const logger = componentLogger(this.#options.logger, 'edge')
    const metrics = createKeeperMetrics(this.#options.registry)
    const kept =
      this.#options.brought === undefined
        ? await this.#joined(logger, metrics, signal)
        : await this.#brought(this.#options.brought, logger, metrics)
    const { node } = kept.identity
    const network = await composeEdgeNetwork({
      ...this.#options.network,
      node,
      hubs: kept.hubs,
      identity: kept,
      client: kept.client,
      cluster: kept.cluster,
      rejoinAdvice: kept.rejoinAdvice,
      keeperMetrics: metrics,
      dataDir: this.#options.dataDir,
      clock: this.#options.clock,
      random,
      logger: this.#options.logger,
      net: this.#net,
      registry: this.#options.registry,
    })
    this.#kept = kept
    this.#network = network
    return await startInOrder([...kept.parts, ...network.parts], signal, fail)
  }

  async #joined(logger: Logger, metrics: KeeperMetrics, signal: AbortSignal): Promise<KeptIdentity> {
    const { clock, dataDir } = this.#options
    const files = new EdgeFiles(dataDir)
    const identity = await this.#identity(files, logger, signal)
    const onRotated = async (): Promise<void> => await this.#network?.links.rotated()
    const isDoubted = (): boolean => this.#network?.health().ok === false
    const given = this.#options.hubs
    const hubs = given.length === 0 ? identity.record.hubs : parseHubUrls(given).map(({ origin }) => origin)
    const dial = this.#dial
    const keeping = { identity, files, hubs, clock, random, logger, metrics, onRotated, isDoubted, dial }
    const { keeper, client, health, hubCa } = createEdgeKeeper(keeping)
    await this.#warnOfExposure(files.paths.pair.key, logger)
    const { record, kubernetesCa } = identity
    return {
      identity,
      hubs,
      health,
      trust: hubCa,
      pair: () => keeper.current(),
      client,
      cluster: { ...record, kubernetesCa, kubernetesCaFile: files.paths.kubernetesCa },
      rejoinAdvice: rejoinAdvice(identity.node, hubs, dataDir),
      parts: [keeper],
    }
  }

  async #warnOfExposure(key: string, logger: Logger): Promise<void> {
    const why = await keyExposure(key, 'the key of this node')
    if (why !== undefined) logger.warn({ why }, 'the key of this node is not safe')
  }

  #warn(logger: Logger, { uncheckedBecause, tokenFileKept }: JoinResult): void {
    if (uncheckedBecause !== undefined)
      logger.warn(
        { why: uncheckedBecause },
        'no hub could be asked whether the identity still counts; going on with it',
      )
    if (tokenFileKept !== undefined) logger.warn({ why: tokenFileKept }, 'the token file could not be removed')
  }

  async #identity(files: EdgeFiles, logger: Logger, signal: AbortSignal): Promise<JoinedIdentity> {
    const { hubs, node, fallbackNode, clock, token, onJoinProgress: progress, dataDir } = this.#options
    if (token !== undefined) {
      const options = { files, hubs, node, fallbackNode, token: await token(), clock, random, signal }
      const forget = (): Promise<void> => eraseReplica(dataDir)
      const joined = await joinHub({ ...options, dial: this.#dial, forget, progress })
      this.#warn(logger, joined)
      return joined.identity
    }
    const identity = await loadJoinedIdentity(files, clock.nowMs())
    if (identity !== undefined && node !== undefined && node !== identity.node)
      throw new EdgeIdentityError(
        `${dataDir} holds the identity of node ${identity.node}, not of ${node}: a node keeps its name. Leave out ` +
          `--node-name, or give another --data-dir and a token to join as ${node}`,
      )
    if (identity !== undefined) return identity
    throw new NotJoinedError(
      `${dataDir} holds no identity: this node has not joined yet. Give --hub, --token-file and --node-name; ` +
        'a token is made by "causeway token create" where the cluster is administered',
    )
  }

  async #brought(paths: BroughtPaths, logger: Logger, metrics: KeeperMetrics): Promise<KeptIdentity> {
    const { clock, hubs, broughtCluster } = this.#options
    const urls = parseHubUrls(hubs)
    const identity = await readBroughtIdentity(paths, clock)
    await new EdgeFiles(this.#options.dataDir).tidy()
    await this.#warnOfExposure(paths.key, logger)
    const onRotated = async (): Promise<void> => await this.#network?.links.rotated()
    const keeper = new BroughtKeeper({ paths, identity, clock, logger, metrics, onRotated })
    const identified = { trust: () => keeper.hubCa(), pair: () => keeper.current() }
    const client = new HubClient({ hubs: urls, clock, ...identified, dial: this.#dial })
    const checkIn = new CheckIn({ present: (signal) => client.checkIn(signal), clock, random, logger })
    const health = (): Health => {
      const ofFiles = keeper.health()
      return ofFiles.ok ? checkIn.health() : ofFiles
    }
    const pair = (): CertificatePair => keeper.current()
    return {
      identity,
      hubs,
      health,
      trust: () => keeper.hubCa(),
      pair,
      client,
      cluster: broughtCluster === undefined ? undefined : await readBroughtCluster(broughtCluster),
      rejoinAdvice: `bring another certificate and key: ${paths.certificate}, ${paths.key}`,
      parts: [keeper, checkIn],
    }
  }
}

/** Draws from [0, 1). */
function random(): number {
  return randomInt(2 ** 32) / 2 ** 32
}
