/**
 * The live sessions of one cluster. A session lasts as long as what it was let in with: the claim on its name is watched, and
 * looked at again every few seconds together with the certificate's end and the trusted CAs.
 */

import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Carrier } from '../../tunnel/carrier.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { isOffence } from '../../tunnel/yamux/errors.ts'
import type { Claim } from '../claims/claim.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { EdgePeer } from '../port/peer-check.ts'
import { Refusal } from '../refusal.ts'
import type { NodeRoutes } from '../routing/node-route.ts'
import type { StreamServer } from '../targets/stream-server.ts'
import { EdgeSession, type EndCode } from './edge-session.ts'
import type { SessionMetrics } from './metrics.ts'
import { NodeSessions } from './node-sessions.ts'
import {
  DEFAULT_NODE_LIMITS,
  type NodeLimits,
  ROTATED_KEY_GRACE_MS,
  SESSION_DRAIN_MS,
  SESSION_RECHECK_MS,
} from './session-limits.ts'
import { standingOf } from './standing.ts'

export interface SessionRegistryOptions {
  readonly cluster: Cluster
  /** Serves the streams that edges open. */
  readonly streams: StreamServer
  /** One for the whole process. */
  readonly budget: Budget
  /** Shared by all clusters of a hub. */
  readonly metrics: SessionMetrics
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly limits?: Partial<NodeLimits>
}

/** Starts before the ports whose connections it takes over, and so stops after them. */
export class SessionRegistry implements NodeRoutes, Part {
  readonly name = 'sessions'
  readonly cluster: Cluster
  readonly #options: SessionRegistryOptions
  readonly #limits: NodeLimits
  readonly #nodes = new Map<string, NodeSessions>()
  #size = 0
  #trust: string
  #cancelRecheck: () => void = () => {}

  constructor(options: SessionRegistryOptions) {
    this.#options = options
    this.cluster = options.cluster
    this.#limits = { ...DEFAULT_NODE_LIMITS, ...options.limits }
    this.#trust = trustOf(options.cluster)
  }

  get size(): number {
    return this.#size
  }

  get all(): readonly EdgeSession[] {
    return [...this.#nodes.values()].flatMap(({ sessions }) => sessions)
  }

  of(node: string): EdgeSession | undefined {
    return this.#nodes.get(node)?.best
  }

  start(signal: AbortSignal): Promise<RunningPart> {
    signal.throwIfAborted()
    const unsubscribe = this.cluster.claims.onChange((node, claim) => this.#onClaim(node, claim))
    this.#scheduleRecheck()
    const stop = (): Promise<void> => {
      unsubscribe()
      this.#cancelRecheck()
      // The ports have drained what they could.
      for (const session of this.all) session.end('hub-stopping')
      return Promise.resolve()
    }
    return Promise.resolve({ stop })
  }

  /** Begins a session for an edge that has been checked. `recheck` asks the same again. */
  begin(peer: EdgePeer, carrier: Carrier, recheck: () => Promise<unknown>): EdgeSession {
    const { clock, budget, metrics, streams, logger, net } = this.#options
    const { node } = peer
    const group = this.#nodes.get(node) ?? new NodeSessions(node, clock, this.#limits, metrics)
    this.#nodes.set(node, group)
    const session: EdgeSession = new EdgeSession({
      peer,
      carrier,
      clock,
      net,
      budget,
      metrics,
      recheck,
      onStream: (stream) => streams.serve(stream, group),
      overload: () => group.overload(),
      onEnd: (code, message) => this.#onEnd(session, code, message),
    })
    this.#size += 1
    group.add(session)
    logger.info({ node, cluster: this.cluster.name, carrier: carrier.description }, 'session begun')
    return session
  }

  #onEnd(session: EdgeSession, code: EndCode, message: string): void {
    const { node } = session
    const group = this.#nodes.get(node)
    group?.remove(session)
    if (group?.isEmpty === true) this.#nodes.delete(node)
    this.#size -= 1
    const seconds = Math.round((this.#options.clock.nowMs() - session.sinceMs) / 1000)
    const fields = { node, cluster: this.cluster.name, code, seconds, reason: message }
    if (isOffence(code)) this.#options.logger.warn(fields, 'session ended')
    else this.#options.logger.info(fields, 'session ended')
  }

  #onClaim(node: string, claim: Claim | undefined): void {
    for (const session of this.#nodes.get(node)?.sessions ?? []) this.#judge(session, claim)
  }

  #judge(session: EdgeSession, claim: Claim | undefined): void {
    const { clock } = this.#options
    const standing = standingOf(session.proof, claim, clock.nowMs())
    if (standing === 'expired') session.end('certificate-expired')
    else if (standing === 'revoked') session.end('certificate-revoked')
    else if (standing === 'contested') this.#askAgainSafely(session, 'certificate-revoked')
    else if (standing === 'good') session.supersededMs = undefined
    else this.#supersede(session)
  }

  /**
   * The edge replaces its sessions by itself; one that does not is helped along. That the peer has said it goes away is no
   * reason to wait: the old key may be in other hands by now.
   */
  #supersede(session: EdgeSession): void {
    const nowMs = this.#options.clock.monotonicMs()
    session.supersededMs ??= nowMs
    if (nowMs - session.supersededMs >= ROTATED_KEY_GRACE_MS) session.drain('rotated', SESSION_DRAIN_MS)
  }

  #askAgainSafely(session: EdgeSession, ifUnanswered: HubRefusalCode | undefined): void {
    const guard = this.#options.net.guard('session', () => session.end('internal'))
    guard(() => this.#askAgain(session, ifUnanswered))
  }

  /** Where the cluster cannot be asked, the session ends if there was a reason to doubt it, and goes on otherwise. */
  async #askAgain(session: EdgeSession, ifUnanswered: HubRefusalCode | undefined): Promise<void> {
    try {
      await session.recheck()
    } catch (error) {
      const code = error instanceof Refusal && error.status < 500 ? error.code : ifUnanswered
      if (code !== undefined) session.end(code)
    }
  }

  #scheduleRecheck(): void {
    this.#cancelRecheck = this.#options.clock.schedule(SESSION_RECHECK_MS, () => {
      this.#scheduleRecheck()
      this.#recheck()
    })
  }

  #recheck(): void {
    const trust = trustOf(this.cluster)
    const isTrustChanged = trust !== this.#trust
    this.#trust = trust
    for (const session of this.all) {
      this.#judge(session, this.cluster.claims.known(session.node))
      if (isTrustChanged) this.#askAgainSafely(session, undefined)
    }
  }
}

/** Differs whenever the trusted CAs do. */
function trustOf(cluster: Cluster): string {
  return cluster
    .authority()
    .trust.map(({ fingerprint }) => fingerprint)
    .join()
}
