/**
 * Notices that a cluster can no longer be asked, and that it can again: says so once each, answers readiness, and in the end
 * gives up the sessions of nodes whose names may have been taken back long ago.
 */
import { Gauge, type Registry } from 'prom-client'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'
import { CLAIMS_MAX_AGE_MS, type Freshness } from './claims/freshness.ts'

/** How often the watchdog looks at its cluster. */
const CLUSTER_LOOK_MS = 1_000
/**
 * Sessions that were let in go on for so long while the claims cannot be looked at: an API server that is upgraded or restored
 * comes back sooner, and nothing is gained by cutting off a fleet before. After that a name that was forgotten meanwhile counts
 * for more, and an edge is better off at a hub that can ask.
 */
export const SESSIONS_MAX_CLAIMS_AGE_MS = 15 * 60_000

export interface ClusterWatchdogOptions {
  readonly cluster: string
  readonly freshness: Freshness
  readonly clock: Clock
  readonly logger: Logger
  /** Ends every session of the cluster. */
  readonly endSessions: () => void
}

export interface ClusterStatus {
  readonly name: string
  readonly ready: boolean
  /** Since the claims were last known to be right. */
  readonly claimsAgeSeconds: number
  readonly problem?: string | undefined
}

export class ClusterWatchdog implements Part {
  readonly name: string
  readonly #options: ClusterWatchdogOptions
  #wasFresh = true
  #cancel: () => void = () => {}

  constructor(options: ClusterWatchdogOptions) {
    this.name = `${options.cluster}/watchdog`
    this.#options = options
  }

  get status(): ClusterStatus {
    const { cluster: name, freshness } = this.#options
    const health = this.health()
    const claimsAgeSeconds = Math.floor(freshness.ageMs / 1000)
    return { name, ready: health.ok, claimsAgeSeconds, problem: health.ok ? undefined : health.reason }
  }

  health(): Health {
    const { freshness } = this.#options
    if (freshness.isFresh) return HEALTHY
    const { failure } = freshness
    const why = failure instanceof Error ? `: ${failure.message}` : ''
    const age = Number.isFinite(freshness.ageMs) ? `for ${Math.floor(freshness.ageMs / 1000)} s` : 'yet'
    return unhealthy(`the API server has not confirmed the claims of nodes ${age}${why}`)
  }

  start(signal: AbortSignal): Promise<RunningPart> {
    signal.throwIfAborted()
    this.#schedule()
    return Promise.resolve({
      stop: () => {
        this.#cancel()
        return Promise.resolve()
      },
    })
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(CLUSTER_LOOK_MS, () => {
      this.#schedule()
      this.#look()
    })
  }

  #look(): void {
    const { cluster, freshness, logger, endSessions } = this.#options
    const { isFresh, ageMs, failure } = freshness
    if (ageMs > SESSIONS_MAX_CLAIMS_AGE_MS) endSessions()
    if (isFresh === this.#wasFresh) return
    this.#wasFresh = isFresh
    const limits = { maxAgeMs: CLAIMS_MAX_AGE_MS, sessionsEndAfterMs: SESSIONS_MAX_CLAIMS_AGE_MS }
    if (isFresh) logger.info({ cluster }, 'the cluster answers again')
    else
      logger.error(
        { cluster, err: failure, ...limits },
        'the cluster does not answer; no node is let in until it does, and sessions go on for a while',
      )
  }
}

export function createClusterMetrics(registry: Registry, clusters: () => readonly ClusterStatus[]): void {
  const age = new Gauge({
    name: 'causeway_hub_claims_age_seconds',
    help: 'Time since the API server last confirmed what this hub knows of the claims of nodes.',
    labelNames: ['cluster'],
    registers: [],
    collect() {
      for (const { name, claimsAgeSeconds } of clusters()) this.set({ cluster: name }, claimsAgeSeconds)
    },
  })
  const ready = new Gauge({
    name: 'causeway_hub_cluster_ready',
    help: 'Whether the cluster answers this hub: 1 or 0.',
    labelNames: ['cluster'],
    registers: [],
    collect() {
      for (const { name, ready: isReady } of clusters()) this.set({ cluster: name }, isReady ? 1 : 0)
    },
  })
  registry.registerMetric(age)
  registry.registerMetric(ready)
}
