/**
 * The hub, put together. A cluster is everything the hub knows of one control plane; a door is that cluster as strangers
 * meet it; the ports lead to the doors.
 */
import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { ListenAddress } from '../network/listen.ts'
import type { Part } from '../process/lifecycle.ts'
import { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { AGENT_PATH } from '../tunnel/konnectivity/service.ts'
import { Budget } from '../tunnel/yamux/budget.ts'
import { groupLimits, groupRoutes } from './api-groups/group-routes.ts'
import {
  certificateRoutes,
  MAX_SIGNINGS_IN_FLIGHT,
  MAX_SIGNINGS_QUEUED,
  signingLimits,
} from './certificates/certificate-routes.ts'
import { CertificateMetrics } from './certificates/metrics.ts'
import { createClaimMetrics } from './claims/metrics.ts'
import { createClusterMetrics } from './cluster-watchdog.ts'
import {
  type ClusterSettings,
  type ClusterSurroundings,
  type ComposedCluster,
  composeCluster,
} from './compose-cluster.ts'
import { createFrontMetrics } from './fronts/metrics.ts'
import { Attempts } from './join/attempts.ts'
import { CA_ROUTES } from './join/ca-routes.ts'
import { edgeCertificateRoute } from './join/edge-certificate.ts'
import { createJoinMetrics } from './join/metrics.ts'
import { nodeRoute } from './join/node-route.ts'
import { createAgentMetrics } from './konnectivity/metrics.ts'
import { MAX_TOKENS_IN_FLIGHT, MAX_TOKENS_QUEUED, tokenLimits, tokenRoutes } from './kube-proxy-token/token-routes.ts'
import { doorChooser } from './port/choose-door.ts'
import type { ClusterDoor } from './port/connection.ts'
import { ConnectionLimits } from './port/connection-limits.ts'
import { HttpRoutes } from './port/http-routes.ts'
import { createHttpService } from './port/http-service.ts'
import type { CallRoute } from './port/http-settings.ts'
import { HubListener } from './port/hub-listener.ts'
import { createServingMetrics } from './port/metrics.ts'
import { NodeBudget } from './port/node-budget.ts'
import { FailureLimiter, WorkGate } from './port/overload.ts'
import { selfSignedIdentity } from './port/self-signed.ts'
import { createRouteMetrics } from './routing/metrics.ts'
import { InnerTls } from './sessions/inner-tls.ts'
import { SessionMetrics } from './sessions/metrics.ts'
import { SessionHost } from './sessions/session-host.ts'
import { websocketSessions } from './sessions/websocket-sessions.ts'
import { DialSlots } from './targets/dial-slots.ts'
import { createTargetMetrics } from './targets/metrics.ts'

export interface ServedCluster extends ClusterSettings {
  /** DNS names by which clients ask for it, where the hub serves several. */
  readonly serverNames: readonly string[]
  /** Gets the clients that name no server. */
  readonly isDefault: boolean
}

export interface HubOptions {
  readonly clusters: readonly [ServedCluster, ...ServedCluster[]]
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  readonly listen: ListenAddress
  readonly joinListen?: ListenAddress | undefined
  /** Life of the certificates that edges get from the hub. */
  readonly certificateLifeMs: number
  /** How long after the end of its certificate an edge may still renew it. */
  readonly renewalGraceMs: number
}

export interface ComposedHub {
  readonly clusters: readonly ComposedCluster[]
  readonly listener: HubListener
  /** In the order in which they start. */
  readonly parts: readonly Part[]
}

export async function composeHub(given: HubOptions): Promise<ComposedHub> {
  const logger = componentLogger(given.logger, 'hub')
  // Under everything that a peer sets off, timers included.
  const net = new SafetyNet({ ...given, logger })
  const options = { ...given, clock: net.timers(given.clock) }
  const { clock, registry, certificateLifeMs, renewalGraceMs } = options
  const audit = componentLogger(options.logger, 'audit')
  const budget = new Budget()
  const sessionMetrics = new SessionMetrics(registry, budget)
  const failures = new FailureLimiter(clock)
  const clusters = await composeClusters(options, { logger, net, audit, budget, failures, sessionMetrics })

  const gate = new WorkGate()
  const attempts = new Attempts({
    failures,
    metrics: createJoinMetrics(registry, gate),
    audit,
    clock,
  })
  const metrics = createServingMetrics(registry)
  const routes = new HttpRoutes({
    routes: [
      // What a stranger needs to recognise us and the API server.
      ...CA_ROUTES,
      // Joining and rotation: the only route that takes a token, and the only one that an expired certificate may use.
      edgeCertificateRoute({ clock, attempts, gate, lifeMs: certificateLifeMs, graceMs: renewalGraceMs }),
      // For nodes, by their certificate.
      nodeRoute({ clock, attempts }),
      ...certificateRoutes({
        clock,
        budget: new NodeBudget(clock, signingLimits),
        gate: new WorkGate(MAX_SIGNINGS_IN_FLIGHT, MAX_SIGNINGS_QUEUED),
        certificatesOf: behindDoor(clusters, ({ certificates }) => certificates),
      }),
      ...tokenRoutes({
        clock,
        audit,
        budget: new NodeBudget(clock, tokenLimits),
        gate: new WorkGate(MAX_TOKENS_IN_FLIGHT, MAX_TOKENS_QUEUED),
        kubeProxyOf: behindDoor(clusters, ({ kubeProxy }) => kubeProxy),
      }),
      ...groupRoutes({
        clock,
        budget: new NodeBudget(clock, groupLimits),
        groupsOf: behindDoor(clusters, ({ groups }) => groups),
      }),
    ],
    clock,
    metrics,
    logger,
  })
  const choose = doorChooser(options.clusters.map((served, index) => ({ ...served, door: doorOf(clusters, index) })))
  const sessions = new SessionHost({
    registries: clusters.map(({ network }) => network.sessions),
    attempts,
    metrics: sessionMetrics,
    clock,
    logger,
    net,
  })
  const upgrade = websocketSessions({ host: sessions, innerTls: new InnerTls({ choose, clock }), clock })
  const http = createHttpService({ routes, upgrade, call: agentCall(clusters), clock, logger, net })
  const nobody = await selfSignedIdentity(clock)
  const limits = new ConnectionLimits()
  const shared = { choose, limits, metrics, clock, logger, net, nobody }
  const listener = new HubListener({ ...shared, name: 'hub', address: options.listen, http, tunnel: sessions.accept })
  const joinListener = (address: ListenAddress): HubListener =>
    new HubListener({ ...shared, name: 'join', address, http: createHttpService({ routes, clock, logger, net }) })
  const parts = [
    ...clusters.flatMap((each) => each.parts),
    listener,
    ...(options.joinListen === undefined ? [] : [joinListener(options.joinListen)]),
  ]
  return { clusters, listener, parts }
}

/** One after the other: each may have to make its CA, and its errors should stand alone. */
async function composeClusters(
  options: HubOptions,
  given: Pick<ClusterSurroundings, 'logger' | 'net' | 'audit' | 'budget' | 'failures' | 'sessionMetrics'>,
): Promise<ComposedCluster[]> {
  const { clock, registry, certificateLifeMs, renewalGraceMs } = options
  const slots = new DialSlots()
  const surroundings: ClusterSurroundings = {
    ...given,
    clock,
    slots,
    certificateMetrics: new CertificateMetrics(registry),
    targetMetrics: createTargetMetrics(registry, slots),
    frontMetrics: createFrontMetrics(registry),
    agentMetrics: createAgentMetrics(registry),
    hubId: randomUUID(),
    routeMetrics: routeMetricsOf(registry),
    certificateUseMs: certificateLifeMs + renewalGraceMs,
  }
  const clusters: ComposedCluster[] = []
  for (const settings of options.clusters) clusters.push(await composeCluster(settings, surroundings))
  const known = clusters.map(({ cluster }) => cluster.claims)
  createClaimMetrics(registry, () => known.flatMap(({ allKnown }) => allKnown), clock)
  createClusterMetrics(registry, () => clusters.map(({ watchdog }) => watchdog.status))
  return clusters
}

/** The numbers of all clusters together: each adds its table to what is counted. */
function routeMetricsOf(registry: Registry): ClusterSurroundings['routeMetrics'] {
  const tables: { readonly contestedCount: number }[] = []
  const all = {
    get contestedCount(): number {
      return tables.reduce((sum, { contestedCount }) => sum + contestedCount, 0)
    },
  }
  const metrics = createRouteMetrics(registry, all)
  return (table) => {
    tables.push(table)
    return metrics
  }
}

function doorOf(clusters: readonly ComposedCluster[], index: number): ClusterDoor {
  const composed = clusters[index]
  if (composed === undefined) throw new Error('there are fewer clusters than settings for them')
  return composed.door
}

/** gRPC on the same port: stock konnectivity agents of the cluster whose door they came through. */
function agentCall(clusters: readonly ComposedCluster[]): CallRoute {
  const byDoor = new Map(clusters.map(({ door, network }) => [door, network.agents]))
  return {
    path: AGENT_PATH,
    handle: (connection, stream, headers) => {
      const agents = byDoor.get(connection.door)
      if (agents === undefined) throw new Error('a door without a cluster')
      return agents.accept(connection, stream, headers)
    },
  }
}

/** What belongs to the cluster behind a door. */
function behindDoor<T>(
  clusters: readonly ComposedCluster[],
  choose: (cluster: ComposedCluster) => T,
): (door: ClusterDoor) => T {
  const byDoor = new Map(clusters.map((cluster) => [cluster.door, choose(cluster)]))
  return (door) => {
    const chosen = byDoor.get(door)
    if (chosen === undefined) throw new Error('a door without a cluster')
    return chosen
  }
}
