/** A hub's port on loopback that takes konnectivity agents, and clients that come to it as such. */
import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { createAgentIdentity } from '../../src/hub/konnectivity/agent-identity.ts'
import type { AgentTokens } from '../../src/hub/konnectivity/agent-tokens.ts'
import { type AgentsOptions, KonnectivityAgents } from '../../src/hub/konnectivity/agents.ts'
import { createAgentMetrics } from '../../src/hub/konnectivity/metrics.ts'
import { ConnectionLimits } from '../../src/hub/port/connection-limits.ts'
import { HttpRoutes } from '../../src/hub/port/http-routes.ts'
import { createHttpService } from '../../src/hub/port/http-service.ts'
import { HubListener } from '../../src/hub/port/hub-listener.ts'
import { createServingMetrics } from '../../src/hub/port/metrics.ts'
import { FailureLimiter } from '../../src/hub/port/overload.ts'
import type { NodeFacts } from '../../src/hub/routing/node-facts.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type ClientCall, startCall } from '../../src/tunnel/grpc/client-call.ts'
import type { Packet } from '../../src/tunnel/konnectivity/packet.ts'
import { GrpcPacketPort, type SentPacket } from '../../src/tunnel/konnectivity/packet-port.ts'
import { AGENT_PATH } from '../../src/tunnel/konnectivity/service.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { FakeCluster, makeCa } from './fake-cluster.ts'
import { type Credential, credentialFor, serverIdentity } from './hub-world.ts'
import { loudNet } from './loud-net.ts'

export interface AgentHub {
  readonly port: number
  readonly clock: ManualClock
  readonly cluster: FakeCluster
  readonly agents: KonnectivityAgents
  readonly registry: Registry
  readonly running: RunningPart
  readonly caPem: string
  readonly log: readonly Record<string, unknown>[]
  /** The same for every call: a node holds its name by one key. */
  credential(node: string): Promise<Credential>
}

export interface AgentHubOptions extends Partial<Pick<AgentsOptions, 'dialTarget' | 'nodeFacts' | 'serverCount'>> {
  readonly tokens?: AgentTokens
}

/** Stopped by itself at the end of the test. */
export async function startAgentHub({ tokens, ...options }: AgentHubOptions = {}): Promise<AgentHub> {
  const clock = new ManualClock(Date.now())
  const cluster = new FakeCluster(clock, await makeCa(clock))
  const identity = await serverIdentity(cluster.ca, clock)
  const registry = new Registry()
  const log: Record<string, unknown>[] = []
  const destination = { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) }
  const logger = createLogger({ level: 'debug', format: 'json', clock, destination })
  const agents = new KonnectivityAgents({
    net: loudNet(),
    clock,
    logger,
    budget: new Budget(),
    metrics: createAgentMetrics(registry),
    failures: new FailureLimiter(clock),
    identify: createAgentIdentity({ cluster, clock, ...(tokens !== undefined && { tokens }) }),
    serverId: 'hub-1',
    serverCount: () => 1,
    nodeFacts: () => undefined,
    ...options,
  })
  const metrics = createServingMetrics(registry)
  const listener = new HubListener({
    net: loudNet(),
    clock: systemClock,
    name: 'hub-listener',
    address: { host: '127.0.0.1', port: 0 },
    choose: () => ({ cluster, serverIdentity: () => identity }),
    http: createHttpService({
      net: loudNet(),
      routes: new HttpRoutes({ routes: [], clock, metrics, logger }),
      call: { path: AGENT_PATH, handle: (...call) => agents.accept(...call) },
      clock,
      logger,
    }),
    limits: new ConnectionLimits(),
    metrics,
    logger,
  })
  const running = await listener.start(new AbortController().signal, (cause) => {
    throw cause
  })
  onTestFinished(() => running.stop(AbortSignal.abort()))
  const caPem = certificatePem(cluster.ca.certificate)
  const credentials = new Map<string, Promise<Credential>>()
  const credential = (node: string): Promise<Credential> => {
    const made = credentials.get(node) ?? credentialFor(cluster.ca, { clock, node })
    credentials.set(node, made)
    return made
  }
  return { port: listener.boundAddress.port, clock, cluster, agents, registry, running, caPem, log, credential }
}

export function factsOf(name: string, facts: Partial<NodeFacts> = {}): NodeFacts {
  return { name, addresses: [], hostNames: [], podCidrs: [], labels: {}, ...facts }
}

/** An agent by hand: it says what a test wants, and nothing else. */
export interface HandAgent {
  readonly call: ClientCall
  readonly socket: TLSSocket
  readonly received: Packet[]
  readonly closed: Promise<Error | undefined>
  readonly send: (packet: SentPacket) => void
}

export async function connectAgent(
  hub: AgentHub,
  credential: Credential | undefined,
  metadata: Readonly<Record<string, string>> = { agentid: 'agent-1', agentidentifiers: '' },
): Promise<HandAgent> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: hub.port,
    ca: hub.caPem,
    ALPNProtocols: ['h2'],
    ...credential,
  })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const call = await startCall({
    socket,
    authority: `127.0.0.1:${hub.port}`,
    scheme: 'https',
    path: AGENT_PATH,
    metadata,
    signal: new AbortController().signal,
  })
  const received: Packet[] = []
  let onClosed = (_error: Error | undefined): void => {}
  const closed = new Promise<Error | undefined>((resolve) => {
    onClosed = resolve
  })
  const port = new GrpcPacketPort(call.stream, systemClock, {
    receive: (packet) => received.push(packet),
    closed: onClosed,
  })
  return { call, socket, received, closed, send: (packet) => port.send(packet) }
}

/** Connects without asking anybody. */
export function dialAnything(address: string, signal?: AbortSignal): Promise<Duplex> {
  const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(address) ?? []
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host, port: Number(port), noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      reject(new OpenError(error.code === 'ENOTFOUND' ? 'dns' : 'refused', error.message)),
    )
    signal?.addEventListener('abort', () => socket.destroy())
  })
}
