/** From the name of a target to a connection, for whoever speaks for a node: policy, then limits, then the dial. */
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { ApiServerPool } from './api-server-pool.ts'
import {
  API_SERVER_DIALS_PER_SECOND_PER_NODE,
  type ApiServerLimit,
  ApiServerShares,
  MAX_API_SERVER_CONNECTIONS_PER_NODE,
} from './api-server-shares.ts'
import type { DialLimit, DialSlots } from './dial-slots.ts'
import type { TargetKind, TargetMetrics } from './metrics.ts'
import type { DialOptions, TargetDialer } from './target-dialer.ts'
import type { TargetDecision, TargetPolicy } from './target-policy.ts'

/** The longest a node may have the hub wait for a target: what it waits by itself where it names no time. */
const MAX_TARGET_DIAL_MS = 30_000

const tooManyDials = 'the hub is connecting to as many targets as it may at a time; try again'
const limitTexts: Readonly<Record<DialLimit | ApiServerLimit, string>> = {
  dials: tooManyDials,
  'dials-per-node': tooManyDials,
  'connections-per-node': 'the hub runs short of connections, and this node has more than its share: close some',
  'apiserver-dials-per-node': `this node opens more than ${API_SERVER_DIALS_PER_SECOND_PER_NODE} connections to the API server per second; try again`,
  'apiserver-connections-per-node': `this node has ${MAX_API_SERVER_CONNECTIONS_PER_NODE} connections to the API server, as many as it may: close some`,
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
  readonly #shares: ApiServerShares

  constructor(options: TargetsOptions) {
    this.#options = options
    this.#shares = new ApiServerShares(options.clock)
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
      metrics.opens.inc({ target, code: 'ok' })
      metrics.dialDurations.observe((clock.monotonicMs() - startedMs) / 1000)
      return socket
    } catch (error) {
      metrics.opens.inc({ target, code: error instanceof OpenError ? error.code : 'gone' })
      throw error
    }
  }

  async #dial(request: TargetRequest, decision: TargetDecision): Promise<Socket> {
    const { slots } = this.#options
    if (decision.kind === 'denied') throw new OpenError('denied', decision.text)
    const { node } = request
    const endDial = this.#within(slots.take(node))
    let releaseShare = (): void => {}
    try {
      if (leadsToApiServer(decision)) releaseShare = this.#within(this.#shares.take(node))
      const socket = await this.#dialled(request, decision)
      const releaseSlot = slots.hold(node)
      const closed = (): void => {
        releaseSlot()
        releaseShare()
      }
      if (socket.closed) closed()
      else socket.once('close', closed)
      return socket
    } catch (error) {
      releaseShare()
      throw error
    } finally {
      endDial()
    }
  }

  /** What gives the place back; throws where there is none. */
  #within(taken: DialLimit | ApiServerLimit | (() => void)): () => void {
    if (typeof taken !== 'string') return taken
    this.#options.metrics.limits.inc({ limit: taken })
    throw new OpenError('overloaded', limitTexts[taken])
  }

  async #dialled({ deadlineMs, signal }: TargetRequest, decision: Reachable): Promise<Socket> {
    const { apiServers, dialer } = this.#options
    const options: DialOptions = { deadlineMs: Math.min(deadlineMs ?? MAX_TARGET_DIAL_MS, MAX_TARGET_DIAL_MS), signal }
    if (decision.kind === 'api-server') return await apiServers.dial(options)
    return await dialer.dial(decision.address, { ...options, permits: decision.permits })
  }
}

type Reachable = Exclude<TargetDecision, { readonly kind: 'denied' }>

function leadsToApiServer(decision: Reachable): boolean {
  return decision.kind === 'api-server' || decision.isApiServer
}
