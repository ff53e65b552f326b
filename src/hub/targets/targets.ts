/** From the name of a target to a connection, for whoever speaks for a node: policy, then limits, then the dial. */
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { ApiServerPool } from './api-server-pool.ts'
import type { DialLimit, DialSlots } from './dial-slots.ts'
import type { TargetKind, TargetMetrics } from './metrics.ts'
import type { DialOptions, TargetDialer } from './target-dialer.ts'
import type { TargetDecision, TargetPolicy } from './target-policy.ts'

/** The longest a node may have the hub wait for a target: what it waits by itself where it names no time. */
const MAX_TARGET_DIAL_MS = 30_000

const tooManyDials = 'the hub is connecting to as many targets as it may at a time; try again'
const limitTexts: Readonly<Record<DialLimit, string>> = {
  dials: tooManyDials,
  'dials-per-node': tooManyDials,
  'connections-per-node': 'the hub runs short of connections, and this node has more than its share: close some',
}

export interface TargetRequest {
  /** As the certificate of its session, or its reviewed token, proved it. */
  readonly node: string
  readonly target: string
  readonly deadlineMs?: number | undefined
  /** Aborts when the node does not want it any more. */
  readonly signal: AbortSignal
}

export interface TargetsOptions {
  readonly policy: TargetPolicy
  readonly apiServers: ApiServerPool
  readonly dialer: TargetDialer
  /** Shared by all clusters of a hub. */
  readonly slots: DialSlots
  readonly metrics: TargetMetrics
  readonly clock: Clock
}

/** The targets of one cluster. */
export class Targets {
  readonly #options: TargetsOptions

  constructor(options: TargetsOptions) {
    this.#options = options
  }

  /** Why the node may not go there, if that is so. Costs next to nothing: a node may ask without end. */
  denial(node: string, target: string): string | undefined {
    const decision = this.#options.policy.decide(node, target)
    if (decision.kind !== 'denied') return undefined
    this.#options.metrics.opens.inc({ target: 'address', code: 'denied' })
    return decision.text
  }

  /** A connected socket that nobody has read from. Rejects with an `OpenError`, or with the signal's reason. */
  async connect(request: TargetRequest): Promise<Socket> {
    const { policy, metrics, clock } = this.#options
    const decision = policy.decide(request.node, request.target)
    const target: TargetKind = decision.kind === 'api-server' ? 'api-server' : 'address'
    const startedMs = clock.monotonicMs()
    try {
      const socket = await this.#dial(request, decision)
      if (!socket.closed) socket.once('close', this.#options.slots.hold(request.node))
      metrics.opens.inc({ target, code: 'ok' })
      metrics.dialDurations.observe((clock.monotonicMs() - startedMs) / 1000)
      return socket
    } catch (error) {
      metrics.opens.inc({ target, code: error instanceof OpenError ? error.code : 'gone' })
      throw error
    }
  }

  async #dial(request: TargetRequest, decision: TargetDecision): Promise<Socket> {
    const { slots, metrics, apiServers, dialer } = this.#options
    if (decision.kind === 'denied') throw new OpenError('denied', decision.text)
    const slot = slots.take(request.node)
    if (typeof slot === 'string') {
      metrics.limits.inc({ limit: slot })
      throw new OpenError('overloaded', limitTexts[slot])
    }
    const deadlineMs = Math.min(request.deadlineMs ?? MAX_TARGET_DIAL_MS, MAX_TARGET_DIAL_MS)
    const options: DialOptions = { deadlineMs, signal: request.signal }
    try {
      if (decision.kind === 'api-server') return await apiServers.dial(options)
      return await dialer.dial(decision.address, { ...options, permits: decision.permits })
    } finally {
      slot()
    }
  }
}
