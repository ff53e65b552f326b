/** One call of an agent, and so a way into its node. */
import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { GRPC_WINDOW_BYTES } from '../../tunnel/grpc/client-call.ts'
import { Http2Liveness } from '../../tunnel/grpc/http2-liveness.ts'
import { GrpcCode } from '../../tunnel/grpc/status.ts'
import type { Answer } from '../../tunnel/konnectivity/incoming-dials.ts'
import { PacketFloodError } from '../../tunnel/konnectivity/packet-limits.ts'
import { GrpcPacketPort } from '../../tunnel/konnectivity/packet-port.ts'
import { PacketSession } from '../../tunnel/konnectivity/packet-session.ts'
import { OpenError, openErrorFrom } from '../../tunnel/open-error.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import type { NodeRoute, RouteDialOptions } from '../routing/node-route.ts'
import type { AgentIdentity } from './agent-identity.ts'
import { closeAfterLinger } from './close-after-linger.ts'
import type { Identifier } from './identifiers.ts'
import type { AgentMetrics } from './metrics.ts'
import { scheduleAt } from './schedule-at.ts'

/** Between pings, as on a session of our own. */
export const AGENT_PING_INTERVAL_MS = 10_000
/** Without an answer for as long, the agent counts as gone. */
export const AGENT_DEAD_AFTER_MS = 30_000

export type AgentEnd = 'left' | 'dead' | 'limit' | 'refused' | 'expired' | 'stopping' | 'rotated' | 'flood' | 'broken'

export interface AgentRouteOptions {
  readonly stream: ServerHttp2Stream
  readonly session: Http2Session
  readonly identity: AgentIdentity
  readonly agentId: string
  readonly address: string
  readonly claims: readonly Identifier[]
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  readonly metrics: AgentMetrics
  /** Reaches what the agent dials; absent: it may not dial. */
  readonly answer: Answer | undefined
  onEnd(reason: AgentEnd, error: Error | undefined): void
}

/** Identifiers for what agents dial: odd ones, since agents that dial give even ones to what we dial. */
const ids = { first: 3, step: 2 }

export class AgentRoute implements NodeRoute {
  readonly kind = 'konnectivity'
  readonly sinceMs: number
  readonly #options: AgentRouteOptions
  readonly #port: GrpcPacketPort
  readonly #packets: PacketSession
  readonly #liveness: Http2Liveness
  readonly #cancelExpiry: () => void
  #isGoingAway = false
  /** Why it gets no more work, if it does not. */
  #drainReason: AgentEnd | undefined
  #hasEnded = false

  constructor(options: AgentRouteOptions) {
    const { stream, session, clock, net, budget, metrics, identity, answer } = options
    this.#options = options
    this.sinceMs = clock.nowMs()
    widenWindows(session)
    this.#port = new GrpcPacketPort(stream, clock, {
      receive: (packet) => this.#packets.receive(packet),
      closed: (error) => this.#settle(endOf(error), error),
    })
    this.#packets = new PacketSession(this.#port, {
      clock,
      net,
      budget,
      closesWith: 'close-request',
      ids,
      answer: answer && this.#unlessDraining(answer),
      onDrain: () => {
        this.#isGoingAway = true
      },
      onIdle: () => {
        if (this.#drainReason !== undefined) this.end(this.#drainReason)
      },
      onStalled: () => metrics.stalledReaders.inc(),
    })
    this.#liveness = new Http2Liveness(session, {
      clock,
      intervalMs: AGENT_PING_INTERVAL_MS,
      deadAfterMs: AGENT_DEAD_AFTER_MS,
      receivedBytes: () => session.socket.bytesRead,
      onDead: () => this.#cut('dead'),
    })
    const { validUntilMs } = identity
    this.#cancelExpiry =
      validUntilMs === undefined ? () => {} : scheduleAt(clock, validUntilMs, () => this.end('expired'))
  }

  get node(): string {
    return this.#options.identity.node
  }

  get agentId(): string {
    return this.#options.agentId
  }

  get identity(): AgentIdentity {
    return this.#options.identity
  }

  get claims(): readonly Identifier[] {
    return this.#options.claims
  }

  get rttMs(): number | undefined {
    return this.#liveness.rttMs
  }

  get streamCount(): number {
    return this.#packets.streamCount
  }

  get description(): string {
    const { agentId, address, identity } = this.#options
    return `konnectivity agent ${agentId} at ${address}, by ${identity.proof}`
  }

  get isGoingAway(): boolean {
    return this.#isGoingAway
  }

  async dial({ address, deadlineMs, signal }: RouteDialOptions): Promise<Duplex> {
    const { metrics } = this.#options
    try {
      this.#refuseIfDraining()
      const connection = await this.#packets.dial({ address, deadlineMs, signal })
      metrics.dials.inc({ code: 'ok' })
      return connection
    } catch (error) {
      const failure = openErrorFrom(error)
      metrics.dials.inc({ code: failure.code })
      throw failure
    }
  }

  /** No new work, either way; ends once what it has is done. The first reason given is kept. */
  drain(reason: 'stopping' | 'rotated'): void {
    this.#isGoingAway = true
    this.#drainReason ??= reason
    if (this.streamCount === 0) this.end(this.#drainReason)
  }

  /** Ends the call in good order, and what it carries. */
  end(reason: AgentEnd): void {
    this.#settle(reason, undefined)
    this.#port.call.finish(GrpcCode.unavailable, reason)
    closeAfterLinger(this.#options.stream, this.#options.clock)
  }

  #refuseIfDraining(): void {
    if (this.#drainReason !== undefined)
      throw new OpenError('no-route', `this agent is going away: ${this.#drainReason}`)
  }

  #unlessDraining(answer: Answer): Answer {
    return async (address, signal) => {
      this.#refuseIfDraining()
      return await answer(address, signal)
    }
  }

  /** Ends the connection below at once. */
  #cut(reason: AgentEnd): void {
    this.#settle(reason, undefined)
    this.#options.session.destroy()
  }

  /** From here on it is no route any more, whatever the peer still does with the call. */
  #settle(reason: AgentEnd, error: Error | undefined): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#isGoingAway = true
    this.#liveness.stop()
    this.#cancelExpiry()
    this.#packets.closed(error ?? new Error(`the agent has been ended: ${reason}`))
    this.#options.onEnd(reason, error)
  }
}

function endOf(error: Error | undefined): AgentEnd {
  if (error === undefined) return 'left'
  return error instanceof PacketFloodError ? 'flood' : 'broken'
}

/** A connection begins with the small windows of people who join; one agent carries what a whole node does. */
function widenWindows(session: Http2Session): void {
  session.settings({ initialWindowSize: GRPC_WINDOW_BYTES })
  session.setLocalWindowSize(GRPC_WINDOW_BYTES)
}
