/** A cluster behind a hub as tests want it, with as little network as possible. */
import type { ServedCluster } from '../../src/hub/compose.ts'
import { targetAddressOfUrl } from '../../src/hub/targets/target-address.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'

export function servedCluster(client: KubeClient, changes: Partial<ServedCluster> = {}): ServedCluster {
  const apiServer = targetAddressOfUrl(new URL(client.connection.server))
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
