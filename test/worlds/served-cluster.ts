/** A cluster behind a hub as tests want it, with as little network as possible. */
import type { ServedCluster } from '../../src/hub/compose.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { hostPortOfUrl } from '../../src/network/host-port.ts'

export function servedCluster(client: KubeClient, changes: Partial<ServedCluster> = {}): ServedCluster {
  const apiServer = hostPortOfUrl(new URL(client.connection.server))
  return {
    name: 'default',
    serverNames: [],
    isDefault: true,
    client,
    addresses: ['127.0.0.1'],
    kubernetesCertificateLifeMs: 86_400_000,
    clusterDomain: 'cluster.local',
    endpointAddressesOf: () => ['127.0.0.1'],
    apiServers: apiServer === undefined ? [] : [apiServer],
    targetRules: [],
    proxyStrategies: ['destHost'],
    serviceCidrs: [],
    agentServiceAccounts: [],
    konnectivityServerCount: 1,
    connectFronts: [],
    grpcFronts: [],
    ...changes,
  }
}
