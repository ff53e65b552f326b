/**
 * The konnectivity agents of one cluster. An agent is let in by who it has proven to be; what it says of itself changes neither
 * its node nor what is sent through it.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../telemetry/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { GRPC_CONTENT_TYPE, GrpcCode, type GrpcCodeNumber, statusTrailers } from '../../tunnel/grpc/status.ts'
import type { Answer } from '../../tunnel/konnectivity/incoming-dials.ts'
import { AgentMetadata } from '../../tunnel/konnectivity/service.ts'
import { openErrorFrom } from '../../tunnel/open-error.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { Refusal } from '../refusal.ts'
import type { NodeFacts } from '../routing/node-facts.ts'
import type { NodeRoutes } from '../routing/node-route.ts'
import type { HubConnection, OpenConnection } from '../serving/connection.ts'
import type { AgentIdentity, IdentifyAgent } from './agent-identity.ts'
import { type AgentEnd, AgentRoute } from './agent-route.ts'
import { type Identifier, isOwn, MAX_IDENTIFIERS_LENGTH, parseIdentifiers } from './identifiers.ts'
import type { AgentMetrics } from './metrics.ts'

/** Agents of one node: one, its successor during an update, and a connection of each that has not been noticed to be dead. */
export const MAX_AGENTS_PER_NODE = 4
/** Agents of one cluster at one hub. */
export const MAX_AGENTS = 10_000
/** A UUID has 36 characters, and most agents take one. */
export const MAX_AGENT_ID_LENGTH = 253
/** For a target in the cloud to connect. */
export const AGENT_TARGET_DEADLINE_MS = 10_000

export type DialTarget = (
  node: string,
  target: string,
  options: { readonly deadlineMs: number; readonly signal: AbortSignal },
) => Promise<Duplex>

export interface AgentsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly budget: Budget
  readonly metrics: AgentMetrics
  readonly identify: IdentifyAgent
  /** Tells hubs apart for an agent, which wants one connection to each. */
  readonly serverId: string
  /** How many hubs an agent shall connect to. */
  readonly serverCount: () => number
  /** What routing knows of a Node. */
  readonly nodeFacts: (node: string) => NodeFacts | undefined
  /** Reaches a target in the cloud for a node, by the policy of the hub; rejects with an `OpenError`. Absent: no targets. */
  readonly dialTarget?: DialTarget
}

export class KonnectivityAgents implements NodeRoutes {
  readonly #options: AgentsOptions
  /** The oldest first. */
  readonly #routes = new Set<AgentRoute>()

  constructor(options: AgentsOptions) {
    this.#options = options
  }

  get all(): readonly AgentRoute[] {
    return [...this.#routes]
  }

  /** The newest; one that asked for no more work only where there is no other, since it still serves. */
  of(node: string): AgentRoute | undefined {
    const routes = this.all.filter((route) => route.node === node).reverse()
    return routes.find((route) => !route.isGoingAway) ?? routes[0]
  }

  /** Of an agent's claims those that are its Node's own, as the Node is now. */
  ownIdentifiers(route: AgentRoute): Identifier[] {
    const facts = this.#options.nodeFacts(route.node)
    return route.claims.filter((claim) => isOwn(claim, facts))
  }

  /** Takes a call over. A `CallRoute` of the hub's port. */
  accept(connection: HubConnection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): OpenConnection {
    const state: CallState = { route: undefined, isDraining: false }
    stream.on('error', () => {})
    void this.#take(connection, stream, headers, state)
    return {
      drain: () => {
        state.isDraining = true
        state.route?.drain()
      },
    }
  }

  /** Looks again at who the agents of a node are, and ends those who may not be that node any more. */
  async recheck(node: string): Promise<void> {
    const routes = this.all.filter((route) => route.node === node)
    await Promise.all(
      routes.map((route) =>
        route.identity.recheck().catch((error: unknown) => {
          // Only a judgement ends it; a cluster that cannot be asked does not.
          if (error instanceof Refusal && error.code !== 'cluster-unavailable') route.end('refused')
        }),
      ),
    )
  }

  async #take(
    connection: HubConnection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    state: CallState,
  ): Promise<void> {
    try {
      state.route = await this.#admit(connection, stream, headers)
      if (state.isDraining) state.route?.drain()
    } catch (error) {
      this.#refuse(stream, error)
    }
  }

  async #admit(
    connection: HubConnection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ): Promise<AgentRoute | undefined> {
    const { identify, metrics, serverId } = this.#options
    const agentId = agentIdOf(headers)
    const claims = claimsOf(headers)
    const identity = await identify(connection.peer, headers.authorization)
    const { session } = stream
    if (stream.destroyed || session === undefined) return undefined
    if (this.#routes.size >= MAX_AGENTS) throw new Refusal('overloaded', 'as many agents as this hub takes')
    stream.respond(
      {
        ':status': 200,
        'content-type': GRPC_CONTENT_TYPE,
        [AgentMetadata.serverId]: serverId,
        [AgentMetadata.serverCount]: String(this.#options.serverCount()),
      },
      { waitForTrailers: true },
    )
    metrics.connects.inc({ result: 'ok' })
    return this.#open({ stream, session, identity, agentId, claims, address: connection.peer.address })
  }

  #open(call: Pick<AgentRouteCall, 'stream' | 'session' | 'identity' | 'agentId' | 'claims' | 'address'>): AgentRoute {
    const { clock, budget, metrics, logger } = this.#options
    const { identity, agentId, claims } = call
    const route: AgentRoute = new AgentRoute({
      ...call,
      clock,
      budget,
      metrics,
      answer: this.#answerFor(identity),
      onEnd: (reason, error) => this.#onEnd(route, reason, error),
    })
    this.#routes.add(route)
    this.#updateGauges()
    const foreign = claims.filter((claim) => !isOwn(claim, this.#options.nodeFacts(identity.node)))
    for (const { kind } of foreign) metrics.foreignIdentifiers.inc({ kind })
    const told = { node: identity.node, agentId, address: call.address }
    logger.info({ ...told, ...(foreign.length > 0 && { ignored: foreign }) }, 'konnectivity agent connected')
    this.#enforceLimit(identity.node)
    return route
  }

  #enforceLimit(node: string): void {
    const routes = this.all.filter((route) => route.node === node)
    for (const route of routes.slice(0, -MAX_AGENTS_PER_NODE)) route.end('limit')
  }

  #answerFor({ node }: AgentIdentity): Answer | undefined {
    const { dialTarget, metrics, logger } = this.#options
    if (dialTarget === undefined) return undefined
    return async (target, signal) => {
      try {
        const socket = await dialTarget(node, target, { deadlineMs: AGENT_TARGET_DEADLINE_MS, signal })
        metrics.targetDials.inc({ code: 'ok' })
        return socket
      } catch (error) {
        const failure = openErrorFrom(error)
        metrics.targetDials.inc({ code: failure.code })
        logger.info({ node, target, code: failure.code, reason: failure.message }, 'not connected for an agent')
        throw failure
      }
    }
  }

  #onEnd(route: AgentRoute, reason: AgentEnd, error: Error | undefined): void {
    const { metrics, logger } = this.#options
    this.#routes.delete(route)
    this.#updateGauges()
    metrics.ends.inc({ reason })
    const told = { node: route.node, agentId: route.agentId, reason }
    logger.info({ ...told, ...(error !== undefined && { err: error }) }, 'konnectivity agent gone')
  }

  #updateGauges(): void {
    this.#options.metrics.agents.set(this.#routes.size)
  }

  #refuse(stream: ServerHttp2Stream, error: unknown): void {
    const { metrics, logger } = this.#options
    const refusal = error instanceof Refusal ? error : new Refusal('internal', 'the hub failed to do this')
    if (refusal !== error) logger.error({ err: error }, 'cannot take an agent')
    metrics.connects.inc({ result: refusal.code })
    logger.info({ code: refusal.code, reason: refusal.message }, 'konnectivity agent refused')
    if (stream.destroyed || stream.headersSent) return
    const trailers = statusTrailers(grpcCodeOf(refusal), `${refusal.code}: ${refusal.message}`)
    stream.respond({ ':status': 200, 'content-type': GRPC_CONTENT_TYPE, ...trailers }, { endStream: true })
    stream.resume()
  }
}

interface CallState {
  route: AgentRoute | undefined
  isDraining: boolean
}

type AgentRouteCall = ConstructorParameters<typeof AgentRoute>[0]

function grpcCodeOf({ status }: Refusal): GrpcCodeNumber {
  if (status === 401) return GrpcCode.unauthenticated
  if (status === 403 || status === 409) return GrpcCode.permissionDenied
  if (status === 400) return GrpcCode.invalidArgument
  return status >= 500 ? GrpcCode.unavailable : GrpcCode.unknown
}

/** HTTP/2 joins several values of a header by commas, which no identifier of an agent contains. */
function agentIdOf(headers: IncomingHttpHeaders): string {
  const id = headers[AgentMetadata.agentId]
  if (typeof id !== 'string' || id === '' || id.includes(',') || id.length > MAX_AGENT_ID_LENGTH)
    throw new Refusal(
      'bad-request',
      `expected one ${AgentMetadata.agentId} of at most ${MAX_AGENT_ID_LENGTH} characters`,
    )
  return id
}

function claimsOf(headers: IncomingHttpHeaders): Identifier[] {
  const text = headers[AgentMetadata.identifiers] ?? ''
  const claims = typeof text === 'string' ? parseIdentifiers(text) : undefined
  if (claims === undefined)
    throw new Refusal(
      'bad-request',
      `expected one ${AgentMetadata.identifiers} of at most ${MAX_IDENTIFIERS_LENGTH} characters`,
    )
  return claims
}
