/**
 * The konnectivity agents of one cluster. An agent is let in by who it has proven to be; what it says of itself changes neither
 * its node nor what is sent through it.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { GRPC_CONTENT_TYPE, GrpcCode, type GrpcCodeNumber, statusTrailers } from '../../tunnel/grpc/status.ts'
import { AgentMetadata } from '../../tunnel/konnectivity/service.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { DenialLog } from '../denial-log.ts'
import type { HubConnection, OpenConnection, Peer } from '../port/connection.ts'
import { type FailureLimiter, WorkGate } from '../port/overload.ts'
import { Refusal } from '../refusal.ts'
import type { NodeFacts } from '../routing/node-facts.ts'
import type { NodeRoutes } from '../routing/node-route.ts'
import { AgentDials, type AgentDialsOptions } from './agent-dials.ts'
import type { AgentIdentity, IdentifyAgent } from './agent-identity.ts'
import { AgentRechecks } from './agent-rechecks.ts'
import { type AgentEnd, AgentRoute } from './agent-route.ts'
import { closeAfterLinger } from './close-after-linger.ts'
import { type Identifier, isOwn, MAX_IDENTIFIERS_LENGTH, parseIdentifiers } from './identifiers.ts'

/** Agents of one node: one, its successor during an update, and a connection of each that has not been noticed to be dead. */
export const MAX_AGENTS_PER_NODE = 4
/** Agents of one cluster at one hub. */
const MAX_AGENTS = 10_000
/** A UUID has 36 characters, and most agents take one. */
const MAX_AGENT_ID_LENGTH = 253
/** Tokens of agents that the cluster is asked about at a time: a stranger has a question for the price of a call. */
export const MAX_TOKEN_REVIEWS_IN_FLIGHT = 32

export interface AgentsOptions extends AgentDialsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly budget: Budget
  readonly identify: IdentifyAgent
  /** Counts the failures of addresses, whatever they fail at; one for the whole hub. */
  readonly failures: Pick<FailureLimiter, 'check' | 'failed'>
  /** Tells hubs apart for an agent, which wants one connection to each. */
  readonly serverId: string
  /** How many hubs an agent shall connect to. */
  readonly serverCount: () => number
  /** What routing knows of a Node. */
  readonly nodeFacts: (node: string) => NodeFacts | undefined
}

export class KonnectivityAgents implements NodeRoutes {
  readonly #options: AgentsOptions
  /** Routes of all agents, the oldest first. */
  readonly #routes = new Set<AgentRoute>()
  readonly #dials: AgentDials
  readonly #rechecks: AgentRechecks
  readonly #refusals: DenialLog
  readonly #tokenGate = new WorkGate(MAX_TOKEN_REVIEWS_IN_FLIGHT)

  constructor(options: AgentsOptions) {
    const { clock, logger } = options
    this.#options = options
    this.#dials = new AgentDials(options)
    this.#rechecks = new AgentRechecks(
      clock,
      () => this.all,
      options.net.guard('timer', () => {}),
    )
    this.#refusals = new DenialLog(clock, logger, 'konnectivity agent refused')
  }

  get all(): readonly AgentRoute[] {
    return [...this.#routes]
  }

  /** The newest; one that asked for no more work only where there is no other, since it still serves. */
  of(node: string): AgentRoute | undefined {
    const routes = this.all.filter((route) => route.node === node).reverse()
    return routes.find((route) => !route.isGoingAway) ?? routes[0]
  }

  /** What an agent claims to reach and what is its Node's own, as the Node is now. */
  ownIdentifiers(route: AgentRoute): Identifier[] {
    const facts = this.#options.nodeFacts(route.node)
    return route.claims.filter((claim) => isOwn(claim, facts))
  }

  /** Takes a call over. A `CallRoute` of the hub's port. */
  accept(connection: HubConnection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): OpenConnection {
    const state: CallState = { route: undefined, isDraining: false }
    stream.on('error', () => {})
    const cut = (): void => stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    this.#options.net.guard('stream', cut)(() => this.#take(connection, stream, headers, state))
    return {
      drain: () => {
        state.isDraining = true
        state.route?.drain('stopping')
      },
    }
  }

  /** Looks again at who the agents of a node are, and ends those who may not be that node any more. */
  async recheck(node: string): Promise<void> {
    const routes = this.all.filter((route) => route.node === node)
    await Promise.all(routes.map((route) => this.#rechecks.recheck(route)))
  }

  async #take(
    connection: HubConnection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    state: CallState,
  ): Promise<void> {
    try {
      state.route = await this.#admit(connection, stream, headers)
      if (state.isDraining) state.route?.drain('stopping')
    } catch (error) {
      this.#refuse(connection, stream, error)
    }
  }

  async #admit(
    connection: HubConnection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ): Promise<AgentRoute | undefined> {
    const { metrics, serverId } = this.#options
    const { identity, agentId, claims } = await this.#identify(connection.peer, stream, headers)
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

  /**
   * An address that failed too often may not try tokens for a while, of which each is a question to the cluster; certificates
   * are looked at all the same, so that nobody can keep the honest nodes of a shared address out.
   */
  async #identify(peer: Peer, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<IdentifiedAgent> {
    const { identify, failures } = this.#options
    try {
      const agentId = agentIdOf(headers)
      const claims = claimsOf(headers)
      const { authorization } = headers
      const identity =
        peer.certificates.length > 0
          ? await identify(peer, authorization)
          : await this.#inTurn(peer, stream, () => identify(peer, authorization))
      return { agentId, claims, identity }
    } catch (error) {
      const isFailure = error instanceof Refusal && error.status < 500 && error.code !== 'too-many-failures'
      if (isFailure) failures.failed(peer.source)
      throw error
    }
  }

  /** An address that fails while it waits, or that has failed before, gets no turn. */
  async #inTurn<T>({ source }: Peer, stream: ServerHttp2Stream, work: () => Promise<T>): Promise<T> {
    const { failures } = this.#options
    failures.check(source)
    const gone = new AbortController()
    stream.once('close', () => gone.abort())
    const turn = async (): Promise<T> => {
      failures.check(source)
      return await work()
    }
    return await this.#tokenGate.run(turn, gone.signal)
  }

  #open(call: Pick<AgentRouteCall, 'stream' | 'session' | 'identity' | 'agentId' | 'claims' | 'address'>): AgentRoute {
    const { clock, net, budget, metrics, logger } = this.#options
    const { identity, agentId, claims } = call
    const route: AgentRoute = new AgentRoute({
      ...call,
      clock,
      net,
      budget,
      metrics,
      answer: this.#dials.answerFor(identity.node),
      onEnd: (reason, error) => this.#onEnd(route, reason, error),
    })
    this.#routes.add(route)
    this.#rechecks.schedule()
    this.#updateGauges()
    const foreign = claims.filter((claim) => !isOwn(claim, this.#options.nodeFacts(identity.node)))
    for (const { kind } of foreign) metrics.foreignIdentifiers.inc({ kind })
    const told = { node: identity.node, agentId, address: call.address }
    logger.info({ ...told, ignored: foreign.length > 0 ? foreign : undefined }, 'konnectivity agent connected')
    this.#enforceLimit(identity.node)
    return route
  }

  #enforceLimit(node: string): void {
    const routes = this.all.filter((route) => route.node === node)
    for (const route of routes.slice(0, -MAX_AGENTS_PER_NODE)) route.end('limit')
  }

  #onEnd(route: AgentRoute, reason: AgentEnd, error: Error | undefined): void {
    const { metrics, logger } = this.#options
    this.#routes.delete(route)
    if (this.of(route.node) === undefined) this.#dials.forget(route.node)
    this.#updateGauges()
    metrics.ends.inc({ reason })
    const told = { node: route.node, agentId: route.agentId, reason }
    const level = reason === 'flood' ? 'warn' : 'info'
    logger[level]({ ...told, err: error }, 'konnectivity agent gone')
  }

  #updateGauges(): void {
    this.#options.metrics.agents.set(this.#routes.size)
  }

  #refuse({ peer }: HubConnection, stream: ServerHttp2Stream, error: unknown): void {
    const { clock, metrics, logger } = this.#options
    const refusal = error instanceof Refusal ? error : new Refusal('internal', 'the hub failed to do this')
    if (refusal !== error) logger.error({ err: error }, 'cannot take an agent')
    metrics.connects.inc({ result: refusal.code })
    this.#refusals.add(peer.source, { source: peer.address, code: refusal.code, reason: refusal.message })
    closeAfterLinger(stream, clock)
    if (stream.destroyed || stream.headersSent) return
    const trailers = statusTrailers(grpcCodeOf(refusal), `${refusal.code}: ${refusal.message}`)
    stream.respond({ ':status': 200, 'content-type': GRPC_CONTENT_TYPE, ...trailers }, { endStream: true })
    stream.resume()
  }
}

interface IdentifiedAgent {
  readonly identity: AgentIdentity
  readonly agentId: string
  readonly claims: Identifier[]
}

interface CallState {
  route: AgentRoute | undefined
  isDraining: boolean
}

type AgentRouteCall = ConstructorParameters<typeof AgentRoute>[0]

function grpcCodeOf({ status }: Refusal): GrpcCodeNumber {
  if (status === 401) return GrpcCode.unauthenticated
  if (status === 403 || status === 409) return GrpcCode.permissionDenied
  if (status === 429) return GrpcCode.resourceExhausted
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
