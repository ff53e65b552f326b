/** How bytes pass between one cluster and its nodes: sessions of edges, targets in the cloud, routes and fronts into the edge. */
import type { Certificate } from '../identity/certificate.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { LabelSelector } from '../kube/selectors/label.ts'
import type { HostPort } from '../network/host-port.ts'
import type { ListenAddress } from '../network/listen.ts'
import type { Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Budget } from '../tunnel/yamux/budget.ts'
import type { OpenCluster } from './cluster/open-cluster.ts'
import { ConnectFront } from './fronts/connect-front.ts'
import type { FrontHandler } from './fronts/front-client.ts'
import { type FrontAddress, FrontListener } from './fronts/front-listener.ts'
import { GrpcFront } from './fronts/grpc-front.ts'
import type { FrontMetrics } from './fronts/metrics.ts'
import { createAgentIdentity } from './konnectivity/agent-identity.ts'
import { AgentTokens } from './konnectivity/agent-tokens.ts'
import { KonnectivityAgents } from './konnectivity/agents.ts'
import type { AgentMetrics } from './konnectivity/metrics.ts'
import { tokenReviewer } from './konnectivity/token-review.ts'
import type { ClusterDoor } from './port/connection.ts'
import type { FailureLimiter } from './port/overload.ts'
import type { RouteMetrics } from './routing/metrics.ts'
import { NodeIndex } from './routing/node-index.ts'
import { AllRoutes, type NodeRoutes } from './routing/node-route.ts'
import type { ProxyStrategy } from './routing/proxy-strategies.ts'
import { RouteDialer } from './routing/route-dialer.ts'
import type { SessionMetrics } from './sessions/metrics.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { ApiServerPool } from './targets/api-server-pool.ts'
import type { DialSlots } from './targets/dial-slots.ts'
import type { TargetMetrics } from './targets/metrics.ts'
import { StreamServer } from './targets/stream-server.ts'
import { TargetDialer } from './targets/target-dialer.ts'
import { TargetPolicy } from './targets/target-policy.ts'
import type { TargetRule } from './targets/target-rule.ts'
import { Targets } from './targets/targets.ts'

/** Where the control plane comes in. */
export type FrontPlace =
  | { readonly kind: 'unix'; readonly path: string; readonly groupId?: number }
  | {
      readonly kind: 'tcp'
      readonly listen: ListenAddress
      /** The CAs of those who may use it. */
      readonly trust: readonly Certificate[]
      readonly allowedNames: readonly string[]
    }

export interface NetworkSettings {
  /** Where the API server of the cluster listens; several are tried in turn. */
  readonly apiServers: readonly HostPort[]
  /** What edges may reach besides it. */
  readonly targetRules: readonly TargetRule[]
  readonly proxyStrategies: readonly ProxyStrategy[]
  /** Which nodes the strategy `default` may use; absent: all. */
  readonly defaultSelector?: LabelSelector | undefined
  /** The addresses of Services, which no Node may claim. */
  readonly serviceCidrs: readonly string[]
  readonly connectFronts: readonly FrontPlace[]
  readonly grpcFronts: readonly FrontPlace[]
  /** ServiceAccounts, as NS/NAME, whose pods may be konnectivity agents by their token; by certificate every node may. */
  readonly agentServiceAccounts: readonly string[]
  /** How many hubs a konnectivity agent shall connect to. */
  readonly konnectivityServerCount: number
}

/** What all clusters of a hub share. */
export interface NetworkSurroundings {
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly budget: Budget
  readonly slots: DialSlots
  readonly sessionMetrics: SessionMetrics
  readonly targetMetrics: TargetMetrics
  readonly frontMetrics: FrontMetrics
  readonly agentMetrics: AgentMetrics
  /** Counts the failures of the addresses that strangers come from, whatever they fail at. */
  readonly failures: FailureLimiter
  /** Tells the hubs of a cluster apart, for konnectivity agents. */
  readonly hubId: string
  /** Counts what this cluster's Nodes contradict each other in. */
  routeMetrics(table: { readonly contestedCount: number }): RouteMetrics
}

export interface ComposedNetwork {
  readonly sessions: SessionRegistry
  readonly agents: KonnectivityAgents
  readonly routes: NodeRoutes
  /** In the order in which they start. */
  readonly parts: readonly Part[]
}

export interface NetworkCluster {
  readonly client: KubeClient
  readonly cluster: OpenCluster
  readonly door: ClusterDoor
}

export function composeNetwork(
  { client, cluster, door }: NetworkCluster,
  settings: NetworkSettings,
  surroundings: NetworkSurroundings,
): ComposedNetwork {
  const { clock, logger, net, budget } = surroundings
  const targets = composeTargets(settings, surroundings)
  const streams = new StreamServer({ targets, clock, logger, net })
  const sessions = new SessionRegistry({
    cluster,
    streams,
    budget,
    metrics: surroundings.sessionMetrics,
    clock,
    logger,
    net,
  })
  const { proxyStrategies: strategies, defaultSelector, serviceCidrs } = settings
  const table = new NodeIndex({ client, clock, logger, strategies, serviceCidrs, defaultSelector })
  const agents = composeAgents({ client, cluster, door }, settings, surroundings, targets, table)
  const routes = new AllRoutes([sessions, agents])
  const dialer = new RouteDialer({ table, routes, metrics: surroundings.routeMetrics(table), clock })
  const { frontMetrics: metrics } = surroundings
  const connect = new ConnectFront({ dialer, clock, metrics, logger })
  const grpc = new GrpcFront({ dialer, clock, budget, metrics, logger, net })
  const listener = (front: string, handler: FrontHandler, place: FrontPlace): FrontListener =>
    new FrontListener({ front, address: frontAddress(place, door), handler, metrics, logger, net, clock })
  const fronts = [
    ...settings.connectFronts.map((place) =>
      listener(ConnectFront.label, (...given) => connect.serve(...given), place),
    ),
    ...settings.grpcFronts.map((place) => listener(GrpcFront.label, (...given) => grpc.serve(...given), place)),
  ]
  // Nodes are looked up for fronts alone; without one the hub needs no right to list them.
  return { sessions, agents, routes, parts: [sessions, ...(fronts.length === 0 ? [] : [table, ...fronts])] }
}

/** Stock konnectivity agents: known by their certificate or, where allowed, by the token of their pod. */
function composeAgents(
  { client, cluster }: NetworkCluster,
  { agentServiceAccounts: allowed, konnectivityServerCount }: NetworkSettings,
  { clock, logger, net, budget, failures, agentMetrics: metrics, hubId: serverId }: NetworkSurroundings,
  targets: Targets,
  table: NodeIndex,
): KonnectivityAgents {
  const tokens = allowed.length === 0 ? undefined : new AgentTokens({ allowed, ...tokenReviewer(client) })
  const agents = new KonnectivityAgents({
    clock,
    logger,
    net,
    budget,
    metrics,
    failures,
    identify: createAgentIdentity({ cluster, clock, tokens }),
    serverId,
    serverCount: () => konnectivityServerCount,
    nodeFacts: (node) => table.node(node),
    dialTarget: (node, target, options) => targets.connect({ node, target, ...options }),
  })
  cluster.claims.onChange((node) => net.guard('session', () => {})(() => agents.recheck(node)))
  return agents
}

function composeTargets(settings: NetworkSettings, surroundings: NetworkSurroundings): Targets {
  const { clock, logger, slots, targetMetrics: metrics } = surroundings
  const { apiServers: addresses, targetRules: rules } = settings
  const dialer = new TargetDialer({ clock })
  const apiServers = new ApiServerPool({ addresses, dialer, metrics, clock, logger })
  const policy = new TargetPolicy({ rules, apiServers: addresses })
  return new Targets({ policy, apiServers, dialer, slots, metrics, clock })
}

/** A front on a TCP port shows the certificate that edges see; who may use it is for its own CAs to say. */
function frontAddress(place: FrontPlace, door: ClusterDoor): FrontAddress {
  if (place.kind === 'unix') return place
  const { listen, trust, allowedNames } = place
  return { kind: 'tcp', listen, tls: { identity: () => door.serverIdentity(), trust: () => trust, allowedNames } }
}
