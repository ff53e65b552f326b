/** Every part of the program that has metrics. A new one adds its line here; a test finds the metrics of those that do not. */
import { Registry } from 'prom-client'
import { addAuditMetrics } from '../../src/apiserver/audit/audit.ts'
import { createMetrics } from '../../src/apiserver/metrics/metrics.ts'
import { addObjectMetrics } from '../../src/apiserver/metrics/object-metrics.ts'
import { measuredStore } from '../../src/apiserver/metrics/store-metrics.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { createGroupMetrics } from '../../src/edge/api-groups/group-metrics.ts'
import { createDestinationMetrics } from '../../src/edge/destinations/destination-metrics.ts'
import { createEndpointMetrics } from '../../src/edge/endpoint/endpoint-metrics.ts'
import { createFilterMetrics } from '../../src/edge/filters/filter-metrics.ts'
import { createForwardMetrics } from '../../src/edge/forwards/forward-metrics.ts'
import { createKeeperMetrics } from '../../src/edge/identity/keeper-metrics.ts'
import { createKeepingMetrics } from '../../src/edge/keeping/keeping-metrics.ts'
import { createKonnectivityMetrics } from '../../src/edge/konnectivity/metrics.ts'
import { createTokenMetrics } from '../../src/edge/kubeconfigs/token-metrics.ts'
import { createLinkMetrics } from '../../src/edge/link/link-metrics.ts'
import { createLocalPodsMetrics } from '../../src/edge/local-pods/local-pods-metrics.ts'
import { createNatMetrics, createNetworkMetrics } from '../../src/edge/network/network-metrics.ts'
import { createReachMetrics } from '../../src/edge/reach/reach-metrics.ts'
import { createReplicaMetrics } from '../../src/edge/replica/replica-metrics.ts'
import { createUpstreamMetrics } from '../../src/edge/upstream/upstream-metrics.ts'
import { CertificateMetrics } from '../../src/hub/certificates/metrics.ts'
import { createClaimMetrics } from '../../src/hub/claims/metrics.ts'
import { createClusterMetrics } from '../../src/hub/cluster-watchdog.ts'
import { createFrontMetrics } from '../../src/hub/fronts/metrics.ts'
import { createJoinMetrics } from '../../src/hub/join/metrics.ts'
import { createAgentMetrics } from '../../src/hub/konnectivity/metrics.ts'
import { createServingMetrics } from '../../src/hub/port/metrics.ts'
import { WorkGate } from '../../src/hub/port/overload.ts'
import { createRouteMetrics } from '../../src/hub/routing/metrics.ts'
import { SessionMetrics } from '../../src/hub/sessions/metrics.ts'
import { DialSlots } from '../../src/hub/targets/dial-slots.ts'
import { createTargetMetrics } from '../../src/hub/targets/metrics.ts'
import { createHealthMetrics } from '../../src/process/health-server.ts'
import { SafetyNet } from '../../src/process/safety-net.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createRoleRegistry } from '../../src/telemetry/metrics.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { type MetricSection, metricsOf } from './metrics.ts'

export function metricSections(): MetricSection[] {
  return [
    { title: 'Every role', metrics: metricsOf(everyRegistry()) },
    { title: 'API server', metrics: metricsOf(apiServerRegistry()) },
    { title: 'Hub', metrics: metricsOf(hubRegistry()) },
    { title: 'Edge', metrics: metricsOf(edgeRegistry()) },
  ]
}

function everyRegistry(): Registry {
  const registry = createRoleRegistry('any', { version: '0' })
  const logger = createLogger({ level: 'fatal', format: 'json', clock: systemClock, destination: { write: () => {} } })
  new SafetyNet({ clock: systemClock, logger, registry }).timers(systemClock)
  createHealthMetrics(registry)
  return registry
}

function apiServerRegistry(): Registry {
  const registry = new Registry()
  createMetrics(registry)
  addAuditMetrics(registry)
  addObjectMetrics(registry, { collection: () => ({ size: 0 }) })
  measuredStore(new MemoryStore(systemClock), systemClock, registry)
  return registry
}

const noLinks = {
  phases: [],
  sessions: 0,
  streams: 0,
  bufferedBytes: 0,
  receivedBytes: 0,
  sentBytes: 0,
  rttMs: undefined,
}

const nothingKept = {
  isOn: true,
  problem: undefined,
  bytes: 0,
  feeds: 0,
  entries: 0,
  records: 0,
  quarantined: 0,
  lastFlushMs: undefined,
}

function hubRegistry(): Registry {
  const registry = new Registry()
  createServingMetrics(registry)
  createJoinMetrics(registry, new WorkGate())
  new CertificateMetrics(registry).decided('approved')
  createClaimMetrics(registry, () => [], systemClock)
  createClusterMetrics(registry, () => [])
  new SessionMetrics(registry, new Budget()).crossed('sessions')
  createTargetMetrics(registry, new DialSlots())
  createFrontMetrics(registry)
  createAgentMetrics(registry)
  createRouteMetrics(registry, { contestedCount: 0 })
  return registry
}

const nothingRead = {
  states: { following: 0, starting: 0, resting: 0, failing: 0 },
  objects: 0,
  bytes: 0,
  readers: 0,
  oldestMs: 0,
  documents: 0,
  verdicts: 0,
  tokens: 0,
  signingKeys: 0,
}

function edgeRegistry(): Registry {
  const registry = new Registry()
  createKeeperMetrics(registry)
  createLinkMetrics(registry, () => noLinks)
  createForwardMetrics(registry)
  createDestinationMetrics(registry)
  createNetworkMetrics(registry)
  createEndpointMetrics(registry, () => ({ connections: 0, shortRequests: 0, longRequests: 0, upgrades: 0 }))
  createUpstreamMetrics(registry, () => ({ pools: [], upgrades: 0 }))
  createReachMetrics(registry, () => ({ state: 'offline', lastsMs: 0 }))
  createFilterMetrics(registry)
  createLocalPodsMetrics(registry, () => 0)
  createKeepingMetrics(registry, () => nothingKept)
  createReplicaMetrics(registry, () => nothingRead)
  createGroupMetrics(registry, () => 0)
  createTokenMetrics(registry)
  createNatMetrics(registry)
  createKonnectivityMetrics(registry)
  return registry
}
