/**
 * The edge as one part of a process: finds out who it is, joins if it must, and keeps that identity good. Without a link it
 * starts all the same, with what is on its disk.
 */
import { randomInt } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { Clock } from '../telemetry/clock.ts'
import { type Health, unhealthy } from '../telemetry/health.ts'
import type { Part, RunningPart } from '../telemetry/lifecycle.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { startInOrder } from '../telemetry/part-group.ts'
import { CheckIn } from './hub/check-in.ts'
import { HubClient } from './hub/hub-client.ts'
import { parseHubUrls } from './hub/hub-url.ts'
import { BroughtKeeper, type BroughtPaths, readBroughtIdentity } from './identity/brought.ts'
import { EdgeFiles } from './identity/edge-files.ts'
import { type EdgeIdentity, type JoinedIdentity, loadJoinedIdentity } from './identity/edge-identity.ts'
import { type JoinProgress, type JoinResult, joinHub } from './join/join.ts'
import type { TokenSource } from './join/token-source.ts'
import { createEdgeKeeper } from './rotation/edge-keeper.ts'
import { createKeeperMetrics, type KeeperMetrics } from './rotation/keeper-metrics.ts'

export interface EdgeOptions {
  readonly dataDir: string
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  /** Addresses of the hub; needed to join, and with certificates of one's own. */
  readonly hubs: readonly string[]
  readonly node?: string
  /** The name if neither `node` nor the token says one. */
  readonly fallbackNode?: string
  /** Present: join if there is no good identity yet. */
  token?: () => Promise<TokenSource>
  /** Present: use these instead of joining. */
  readonly brought?: BroughtPaths
  readonly onJoinProgress?: (progress: JoinProgress) => void
}

export class NotJoinedError extends Error {
  override readonly name = 'NotJoinedError'
}

/** What both ways to an identity end in. */
interface KeptIdentity {
  readonly identity: EdgeIdentity
  readonly hubs: readonly string[]
  readonly health: () => Health
  readonly certificate: () => { readonly notAfterMs: number } | undefined
  readonly parts: readonly Part[]
}

export interface EdgeStatus {
  readonly node: string
  readonly hubs: readonly string[]
  readonly certificateEnds: string | undefined
  readonly identity: Health
}

export class Edge implements Part {
  readonly name = 'edge'
  readonly #options: EdgeOptions
  #kept: KeptIdentity | undefined

  constructor(options: EdgeOptions) {
    this.#options = options
  }

  /** Whether the hub may take this node for who it is. Not whether there is a link: an edge is ready without one. */
  health(): Health {
    return this.#kept?.health() ?? unhealthy('not started')
  }

  get status(): EdgeStatus {
    if (this.#kept === undefined) throw new Error('the edge has not been started')
    const { identity, hubs, certificate, health } = this.#kept
    const endsMs = certificate()?.notAfterMs
    const certificateEnds = endsMs === undefined ? undefined : new Date(endsMs).toISOString()
    return { node: identity.node, hubs, certificateEnds, identity: health() }
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const logger = componentLogger(this.#options.logger, 'edge')
    const metrics = createKeeperMetrics(this.#options.registry)
    const kept =
      this.#options.brought === undefined
        ? await this.#joined(logger, metrics, signal)
        : await this.#brought(this.#options.brought, logger, metrics)
    const running = await startInOrder(kept.parts, signal, fail)
    this.#kept = kept
    return running
  }

  async #joined(logger: Logger, metrics: KeeperMetrics, signal: AbortSignal): Promise<KeptIdentity> {
    const { clock, dataDir } = this.#options
    const files = new EdgeFiles(dataDir)
    const identity = await this.#identity(files, logger, signal)
    const { keeper, checkIn } = createEdgeKeeper({ identity, files, clock, random, logger, metrics })
    const trustRefresh = new CheckIn({ present: checkIn, clock, random, logger })
    return {
      identity,
      hubs: identity.record.hubs,
      health: () => keeper.health(),
      certificate: () => keeper.current()?.chain[0],
      parts: [keeper, trustRefresh],
    }
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
      const joined = await joinHub({ ...options, ...(progress === undefined ? {} : { progress }) })
      this.#warn(logger, joined)
      return joined.identity
    }
    const identity = await loadJoinedIdentity(files, clock.nowMs())
    if (identity !== undefined) return identity
    throw new NotJoinedError(
      `${dataDir} holds no identity: this node has not joined yet. Give --hub, --token-file and --node-name; ` +
        'a token is made by "causeway token create" where the cluster is administered',
    )
  }

  async #brought(paths: BroughtPaths, logger: Logger, metrics: KeeperMetrics): Promise<KeptIdentity> {
    const { clock, hubs } = this.#options
    const urls = parseHubUrls(hubs)
    const identity = await readBroughtIdentity(paths, clock)
    const keeper = new BroughtKeeper({ paths, identity, clock, logger, metrics })
    const client = new HubClient({ hubs: urls, clock, trust: () => keeper.hubCa(), pair: () => keeper.current() })
    const checkIn = new CheckIn({ present: (signal) => client.checkIn(signal), clock, random, logger })
    const health = (): Health => {
      const ofFiles = keeper.health()
      return ofFiles.ok ? checkIn.health() : ofFiles
    }
    return { identity, hubs, health, certificate: () => keeper.current().chain[0], parts: [keeper, checkIn] }
  }
}

/** Draws from [0, 1). */
function random(): number {
  return randomInt(2 ** 32) / 2 ** 32
}
