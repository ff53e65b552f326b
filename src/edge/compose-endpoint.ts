/**
 * The endpoint that plays API server for this node, put together: the certificates it needs, the way up, the filters, the
 * ports, and what the other programs of the node need to find it.
 */

import type { Registry } from 'prom-client'
import type { Certificate } from '../identity/certificate.ts'
import type { Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import { API_SERVER_TARGET, USUAL_HUB_NAMESPACE } from '../protocol/names.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Health, unhealthy } from '../telemetry/health.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { TunnelStream } from '../tunnel/tunnel-stream.ts'
import { NodeCertificates, type NodeCertificatesStatus } from './certificates/node-certificates.ts'
import { composeGuides, type GuideStatus } from './compose-guides.ts'
import { composeReplica, type ReplicaSettings } from './compose-replica.ts'
import { Endpoint, type EndpointStatus } from './endpoint/endpoint.ts'
import { isKubeProxy } from './filters/component.ts'
import type { FilterEndpoint, LocalPodsView } from './filters/filter.ts'
import { createFilterMetrics } from './filters/filter-metrics.ts'
import type { FilterSettings } from './filters/filter-settings.ts'
import { FilterViewFile } from './filters/filter-view-file.ts'
import { ResponseFilters } from './filters/response-filters.ts'
import type { HubClient } from './hub/hub-client.ts'
import type { KeeperMetrics } from './identity/keeper-metrics.ts'
import type { EdgeLinks } from './link/edge-links.ts'
import type { FeedSummary, ReplicaStatus } from './replica/replica-status.ts'
import { PooledUpstream } from './upstream/pooled-upstream.ts'
import type { UpstreamStatus } from './upstream/upstream.ts'

export interface EndpointSettings {
  readonly port: number
  /** Where the programs of the node itself are led to. */
  readonly loopback: string
  /** Served besides, for pods with a network of their own; they are led to the first. */
  readonly addresses: readonly string[]
  /** Whether to keep kubeconfigs for the kubelet and kube-proxy. */
  readonly writeKubeconfigs: boolean
  /** Whether to lead the cluster's own address of the API server to the endpoint. */
  readonly nat: boolean
  readonly filters: FilterSettings
  readonly replica?: ReplicaSettings | undefined
}

/** How an edge knows the API server: learnt at joining, or brought. */
export interface ClusterPins {
  readonly apiServerName: string
  readonly kubernetesCa: readonly Certificate[]
  readonly kubernetesCaFile: string
}

export interface ComposeEndpointOptions {
  readonly settings: EndpointSettings
  readonly node: string
  readonly dataDir: string
  readonly cluster: ClusterPins
  readonly client: HubClient
  readonly links: EdgeLinks
  readonly rejoinAdvice: string
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
  readonly keeperMetrics: KeeperMetrics
}

export interface EdgeEndpointStatus extends Omit<EndpointStatus, 'addresses' | 'certificateEnds'>, GuideStatus {
  /** Where it serves at the moment. */
  readonly addresses: readonly string[]
  readonly port: number
  readonly health: Health
  readonly problems: readonly string[]
  readonly certificates: NodeCertificatesStatus
  readonly upstream: UpstreamStatus
  readonly replica: ReplicaStatus
}

export interface EdgeEndpoint {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly health: () => Health
  /** Whether the token file of kube-proxy is good, where one is kept. */
  readonly kubeProxyTokenHealth: () => Health
  readonly status: () => EdgeEndpointStatus | undefined
  /** Everything that is kept for when the link is down. */
  readonly summarizeFeeds: () => FeedSummary[]
  /** Counts for running watches too. */
  readonly configureFilters: (settings: FilterSettings) => void
}

export async function composeEndpoint(options: ComposeEndpointOptions): Promise<EdgeEndpoint> {
  const { settings, cluster, links, clock, logger, net, registry } = options
  const { loopback } = settings
  // The address of pods first: filters count before the kubelet can come in by the other.
  const wanted = [...settings.addresses, loopback]
  let endpoint: Endpoint | undefined
  const certificates = await NodeCertificates.load({
    ...options,
    addresses: wanted,
    kubernetesCa: cluster.kubernetesCa,
    metrics: options.keeperMetrics,
    onRenewed: () => endpoint?.certificateChanged(),
  })
  const upstream = new PooledUpstream({
    open: async (signal) => (await links.open({ target: API_SERVER_TARGET }, signal)).stream,
    // Where no other hub is there, its last streams are better than none.
    isLeaving: (carrier) => links.isUp && carrier instanceof TunnelStream && carrier.isSessionGoingAway,
    serverName: cluster.apiServerName,
    trust: () => cluster.kubernetesCa,
    nodePair: () => certificates.client(),
    // With what queues on the way, windows would grow because they are full.
    rttMs: () => links.shortestRttMs,
    clock,
    logger,
    net,
    registry,
  })
  links.onChange(() => upstream.waysChanged())
  const served = (): FilterEndpoint | undefined => openAt(endpoint, settings.addresses[0])
  const guides = composeGuides({
    node: options.node,
    dataDir: options.dataDir,
    kubernetesCaFile: cluster.kubernetesCaFile,
    kubernetesCa: cluster.kubernetesCa,
    writeKubeconfigs: settings.writeKubeconfigs,
    nat: settings.nat,
    certificates,
    served,
    local: () => openAt(endpoint, loopback),
    client: options.client,
    clock,
    random: options.random,
    logger,
    registry,
  })
  const {
    replica,
    readers,
    localPods,
    parts: replicaParts,
    status: replicaStatus,
    summarizeFeeds,
  } = composeReplica({
    ...options,
    settings: settings.replica,
    upstream,
    hasNodePair: () => certificates.client() !== undefined,
    kubeProxyToken: guides.kubeProxyToken,
    isKubeProxy: (user) => isKubeProxy(user, guides.hubNamespace() ?? USUAL_HUB_NAMESPACE),
  })
  const { filters, viewFile } = composeFilters(options, served, guides.hubNamespace, localPods.view)
  localPods.onChange(() => {
    filters.localPodsChanged()
    viewFile.write(filters.view)
  })
  const ports: Part = {
    name: 'endpoint',
    start: async (signal) => {
      // Made only now: the parts before this one have seen to the addresses. One that they may not add may be added by others.
      endpoint = new Endpoint({
        ...options,
        addresses: wanted,
        mayBeMissing: settings.addresses,
        port: settings.port,
        certificate: () => certificates.serving(),
        nodeCertificate: () => certificates.client()?.chain[0],
        kubernetesCas: () => cluster.kubernetesCa,
        upstream,
        replica,
        identify: (token, hash) => readers.nameOf(token, hash),
        filters,
        onRejected: guides.rejected,
        onOpen: () => {
          filters.endpointChanged()
          viewFile.write(filters.view)
          guides.opened()
        },
      })
      return await endpoint.start(signal)
    },
  }
  const health = (): Health => {
    const ofCertificates = certificates.health()
    return ofCertificates.ok ? (endpoint?.health() ?? unhealthy('the endpoint has not been started')) : ofCertificates
  }
  return {
    // The way up and what the run before has left before the ports, and after them what names the port.
    parts: [certificates, upstream, ...replicaParts, viewFile, ports, ...guides.parts],
    health,
    kubeProxyTokenHealth: guides.tokenHealth,
    status: () => {
      if (endpoint === undefined) return undefined
      const rest = {
        certificates: certificates.status,
        upstream: upstream.status,
        replica: replicaStatus(),
        ...guides.status(),
      }
      return { ...statusOf(endpoint, settings), health: health(), ...rest }
    },
    summarizeFeeds,
    configureFilters: (changed) => {
      filters.configure(changed)
      // Before the ports have opened nobody has seen anything: that will be written then.
      if (openAt(endpoint, loopback) !== undefined) viewFile.write(filters.view)
    },
  }
}

function composeFilters(
  { settings, dataDir, clock, registry, logger: all }: ComposeEndpointOptions,
  endpoint: () => FilterEndpoint | undefined,
  tokenNamespace: () => string | undefined,
  localPods: LocalPodsView,
) {
  const logger = componentLogger(all, 'edge/filters')
  const viewFile = new FilterViewFile({ dataDir, logger })
  const filters = new ResponseFilters({
    endpoint,
    // A token of kube-proxy says where that really is.
    hubNamespace: USUAL_HUB_NAMESPACE,
    tokenNamespace,
    localPods,
    before: () => viewFile.before,
    settings: settings.filters,
    metrics: createFilterMetrics(registry),
    clock,
    logger,
  })
  return { filters, viewFile }
}

/** `undefined` while nobody listens there. */
function openAt(endpoint: Endpoint | undefined, address: string | undefined) {
  const found = endpoint?.status.addresses.find(({ host, isOpen }) => isOpen && host === address)
  return found === undefined ? undefined : { address: found.host, host: found.host, port: found.port }
}

function statusOf(endpoint: Endpoint, { loopback, port: wantedPort }: EndpointSettings) {
  const { addresses, certificateEnds: _certificateEnds, ...rest } = endpoint.status
  return {
    addresses: addresses.filter(({ isOpen }) => isOpen).map(({ host }) => host),
    port: openAt(endpoint, loopback)?.port ?? wantedPort,
    problems: addresses.flatMap(({ problem }) => problem ?? []),
    ...rest,
  }
}
