/** A hub on loopback that takes sessions, with targets behind it, and edges that come to it over real TLS. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import type { Claim } from '../../src/hub/claims/claim.ts'
import type { Cluster } from '../../src/hub/cluster/cluster.ts'
import { Attempts } from '../../src/hub/join/attempts.ts'
import { createJoinMetrics } from '../../src/hub/join/metrics.ts'
import type { ClusterDoor } from '../../src/hub/port/connection.ts'
import type { UpgradeRoute } from '../../src/hub/port/http-settings.ts'
import { FailureLimiter, WorkGate } from '../../src/hub/port/overload.ts'
import { InnerTls } from '../../src/hub/sessions/inner-tls.ts'
import { SessionMetrics } from '../../src/hub/sessions/metrics.ts'
import { SessionHost } from '../../src/hub/sessions/session-host.ts'
import type { NodeLimits } from '../../src/hub/sessions/session-limits.ts'
import { SessionRegistry } from '../../src/hub/sessions/session-registry.ts'
import { websocketSessions } from '../../src/hub/sessions/websocket-sessions.ts'
import { ApiServerPool } from '../../src/hub/targets/api-server-pool.ts'
import { DialSlots } from '../../src/hub/targets/dial-slots.ts'
import { createTargetMetrics } from '../../src/hub/targets/metrics.ts'
import { StreamServer } from '../../src/hub/targets/stream-server.ts'
import { TargetDialer } from '../../src/hub/targets/target-dialer.ts'
import { TargetPolicy } from '../../src/hub/targets/target-policy.ts'
import { parseTargetRule } from '../../src/hub/targets/target-rule.ts'
import { Targets } from '../../src/hub/targets/targets.ts'
import { parseHostPort } from '../../src/network/host-port.ts'
import { HUB_PATHS } from '../../src/protocol/requests.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import type { Carrier } from '../../src/tunnel/carrier.ts'
import { type OutgoingOpen, openTarget } from '../../src/tunnel/outgoing.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import type { TunnelStream } from '../../src/tunnel/tunnel-stream.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import type { SessionError } from '../../src/tunnel/yamux/errors.ts'
import { FakeCluster, makeCa } from './fake-cluster.ts'
import { type Credential, dial, eventually, type HubWorld, serverIdentity, startHub } from './hub-world.ts'
import { loudNet } from './loud-net.ts'

export interface SessionWorldOptions {
  /** `host:port` of the API server; absent: nobody is there. */
  readonly apiServer?: string
  readonly allow?: readonly string[]
  readonly limits?: Partial<NodeLimits>
  readonly maxSessions?: number
  readonly slots?: DialSlots
  /** Whether the hub serves a second cluster, with a CA of its own. */
  readonly second?: boolean
}

export interface SessionWorld {
  readonly hub: HubWorld
  readonly registry: SessionRegistry
  /** Of the second cluster. */
  readonly second?: SessionRegistry
  /** Tells the hub what the cluster knows of a claim, as its watch would. */
  tellClaim(node: string): void
}

/** In the handshake: leads to the second cluster, where there is one. */
export const SECOND_NAME = 'second.example'

export async function startSessionHub(options: SessionWorldOptions = {}): Promise<SessionWorld> {
  // The hub has to be there before what it hands its connections to.
  const parts: { host?: SessionHost; upgrade?: UpgradeRoute; first?: ClusterDoor; second?: ClusterDoor } = {}
  const hub = await startHub({
    tunnel: (connection) => required(parts.host).accept(connection),
    upgrade: { path: HUB_PATHS.tunnel, handle: (...given) => required(parts.upgrade).handle(...given) },
    choose: (door) => (name) => {
      parts.first = door
      return name === SECOND_NAME ? required(parts.second) : door
    },
  })
  const tellClaim = watchClaims(hub)
  const shared = sharedOf(hub, options)
  const registry = await sessionsOf(shared, hub.cluster)
  const second = options.second === true ? await secondCluster(shared) : undefined
  if (second !== undefined) parts.second = second.door
  const { clock } = hub
  parts.host = new SessionHost({
    net: loudNet(),
    registries: [registry, ...(second === undefined ? [] : [second.registry])],
    attempts: attemptsOf(hub),
    metrics: shared.metrics,
    clock,
    logger: loggerOf(hub),
    ...(options.maxSessions === undefined ? {} : { maxSessions: options.maxSessions }),
  })
  const innerTls = new InnerTls({ choose: () => required(parts.first), clock })
  parts.upgrade = websocketSessions({ host: parts.host, innerTls, clock })
  return { hub, registry, tellClaim, ...(second === undefined ? {} : { second: second.registry }) }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the hub is not ready')
  return value
}

function loggerOf({ clock, log }: HubWorld): ReturnType<typeof createLogger> {
  const lines = log as Record<string, unknown>[]
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }
  return createLogger({ level: 'debug', format: 'json', clock, destination })
}

function attemptsOf(hub: HubWorld): Attempts {
  const metrics = createJoinMetrics(new Registry(), new WorkGate())
  return new Attempts({ failures: new FailureLimiter(hub.clock), metrics, audit: loggerOf(hub), clock: hub.clock })
}

/** The fake cluster has no watch. */
function watchClaims({ cluster: { claims } }: HubWorld): (node: string) => void {
  const listeners = new Set<(node: string, claim: Claim | undefined) => void>()
  claims.onChange = (...given: unknown[]) => {
    const [listener] = given as [(node: string, claim: Claim | undefined) => void]
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return (node) => {
    for (const listener of listeners) listener(node, claims.known(node))
  }
}

/** What all clusters of a hub share. */
function sharedOf(hub: HubWorld, options: SessionWorldOptions) {
  const budget = new Budget()
  const slots = options.slots ?? new DialSlots()
  const metrics = new SessionMetrics(hub.registry, budget)
  return { hub, options, budget, slots, metrics, targetMetrics: createTargetMetrics(hub.registry, slots) }
}

async function secondCluster(shared: ReturnType<typeof sharedOf>) {
  const { clock } = shared.hub
  const cluster = new FakeCluster(clock, await makeCa(clock, 'second-ca'), 'cluster-2')
  const identity = await serverIdentity(cluster.ca, clock)
  const door: ClusterDoor = { cluster, serverIdentity: () => identity }
  return { door, registry: await sessionsOf(shared, cluster) }
}

async function sessionsOf(shared: ReturnType<typeof sharedOf>, cluster: Cluster): Promise<SessionRegistry> {
  const { hub, options, budget, slots, metrics, targetMetrics } = shared
  const { clock } = hub
  const logger = loggerOf(hub)
  const apiServer = options.apiServer === undefined ? undefined : parseHostPort(options.apiServer)
  const addresses = apiServer === undefined ? [] : [apiServer]
  const dialer = new TargetDialer({ clock })
  const targets = new Targets({
    policy: new TargetPolicy({ rules: (options.allow ?? []).map(parseTargetRule), apiServers: addresses }),
    apiServers: new ApiServerPool({ addresses, dialer, metrics: targetMetrics, clock, logger }),
    dialer,
    slots,
    metrics: targetMetrics,
    clock,
  })
  const streams = new StreamServer({ net: loudNet(), targets, clock, logger })
  const { limits = {} } = options
  const registry = new SessionRegistry({ net: loudNet(), cluster, streams, budget, metrics, clock, logger, limits })
  const running = await registry.start(new AbortController().signal)
  onTestFinished(() => running.stop(AbortSignal.abort()))
  return registry
}

export interface Edge {
  readonly driver: SessionDriver
  readonly socket: Duplex
  /** Streams the hub opened. */
  readonly incoming: TunnelStream[]
  readonly ended: Promise<SessionError>
  readonly hasGoneAway: () => boolean
  open(target: string, source?: string): OutgoingOpen
}

/** A session as an edge makes it. Resolves when the hub has it, unless the hub turns it away. */
export async function startEdge(world: SessionWorld, credential?: Credential, options: object = {}): Promise<Edge> {
  const socket = await tunnelSocket(world.hub, credential, options)
  return driveEdge(world.hub, new SocketCarrier(socket, 'edge'), socket)
}

/** Waits for the sign that the hub has let it in: the answer to its first ping. */
export async function letIn(edge: Edge): Promise<Edge> {
  await eventually(() => {
    if (edge.driver.rttMs === undefined) throw new Error('not let in')
  })
  return edge
}

export function driveEdge({ clock }: HubWorld, carrier: Carrier, socket: Duplex): Edge {
  const incoming: TunnelStream[] = []
  let wentAway = false
  let end: (error: SessionError) => void = () => {}
  const ended = new Promise<SessionError>((resolve) => {
    end = resolve
  })
  const handler = {
    onStream: (stream: TunnelStream) => void incoming.push(stream),
    onGoAway: () => {
      wentAway = true
    },
    onEnd: (error: SessionError) => end(error),
  }
  const driver = new SessionDriver({ net: loudNet(), role: 'client', carrier, clock, budget: new Budget(), handler })
  const open = (target: string, source?: string): OutgoingOpen =>
    openTarget(driver, { target, ...(source === undefined ? {} : { source }) }, clock)
  return { driver, socket, incoming, ended, hasGoneAway: () => wentAway, open }
}

export async function tunnelSocket(hub: HubWorld, credential?: Credential, options: object = {}): Promise<TLSSocket> {
  return await dial(hub, { ALPNProtocols: ['causeway/1'], ...credential, ...options })
}

/** A TCP server on loopback; what it does with connections is up to the test. */
export async function startTarget(serve: (socket: Socket) => void): Promise<{ address: string; server: Server }> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}))
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Resolves when it is closed, in whatever way, and reads and drops what still comes. */
export function closed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    stream
      .on('error', () => {})
      .once('close', resolve)
      .resume()
  })
}

/** The value of a metric, summed over all labels that match. */
export async function metric(hub: HubWorld, name: string, labels: Record<string, string> = {}): Promise<number> {
  const { values = [] } = (await hub.registry.getSingleMetric(name)?.get()) ?? {}
  const wanted = Object.entries(labels)
  return values
    .filter((each) => wanted.every(([label, value]) => each.labels[label as never] === value))
    .reduce((sum, { value }) => sum + value, 0)
}
