/** One control plane behind the hub, put together: what it knows, who may join it, what its nodes may have signed. */
import type { KubeClient } from '../kube/client/client.ts'
import { selfSubjectReviews } from '../kube/client/kinds.ts'
import type { Part } from '../process/lifecycle.ts'
import type { Logger } from '../telemetry/logger.ts'
import { API_SERVICES, LocalGroups } from './api-groups/local-groups.ts'
import { CsrKeeper } from './certificates/csr-keeper.ts'
import type { CertificateMetrics } from './certificates/metrics.ts'
import { type ContentOptions, contentFor, NodeCertificates } from './certificates/node-certificates.ts'
import { auditClaims } from './claims/metrics.ts'
import { type OpenCluster, type OpenClusterOptions, openCluster } from './cluster/open-cluster.ts'
import { ClusterWatchdog } from './cluster-watchdog.ts'
import {
  type ComposedNetwork,
  composeNetwork,
  type NetworkSettings,
  type NetworkSurroundings,
} from './compose-network.ts'
import { KubeProxyAccount } from './kube-proxy-token/kube-proxy-account.ts'
import type { ClusterDoor } from './port/connection.ts'
import { explained } from './shared/cluster-error.ts'

type OpeningOptions = 'namespace' | 'caFiles' | 'serverFiles' | 'addresses' | 'kubernetesCaFile' | 'apiServerName'

export interface ClusterSettings extends Pick<OpenClusterOptions, OpeningOptions>, NetworkSettings {
  readonly name: string
  readonly client: KubeClient
  /** Life of the certificates that the cluster signs for nodes. */
  readonly kubernetesCertificateLifeMs: number
  readonly clusterDomain: string
  readonly endpointAddressesOf: (node: string) => readonly string[]
}

/** What all clusters of a hub share. */
export interface ClusterSurroundings extends NetworkSurroundings {
  readonly audit: Logger
  readonly certificateMetrics: CertificateMetrics
  /** How long an edge's certificate may be used from its issue to the end of any grace. */
  readonly certificateUseMs: number
}

export interface ComposedCluster {
  readonly cluster: OpenCluster
  readonly door: ClusterDoor
  readonly certificates: NodeCertificates
  readonly kubeProxy: KubeProxyAccount
  readonly groups: LocalGroups
  readonly network: ComposedNetwork
  readonly watchdog: ClusterWatchdog
  /** In the order in which they start. */
  readonly parts: readonly Part[]
}

export async function composeCluster(
  settings: ClusterSettings,
  surroundings: ClusterSurroundings,
): Promise<ComposedCluster> {
  const { client } = settings
  const { clock, logger, audit, certificateMetrics: metrics } = surroundings
  const cluster = await openCluster({
    name: settings.name,
    client,
    namespace: settings.namespace,
    clock,
    logger,
    addresses: settings.addresses,
    caFiles: settings.caFiles,
    serverFiles: settings.serverFiles,
    kubernetesCaFile: settings.kubernetesCaFile,
    apiServerName: settings.apiServerName,
    certificateUseMs: surroundings.certificateUseMs,
  })
  auditClaims(cluster, audit)
  const content: ContentOptions = {
    client,
    lifeSeconds: Math.floor(settings.kubernetesCertificateLifeMs / 1000),
    clusterDomain: settings.clusterDomain,
    endpointAddressesOf: settings.endpointAddressesOf,
  }
  const ownUser = await whoAmI(client)
  const keeper = new CsrKeeper({
    client,
    clock,
    audit,
    metrics,
    ownUser,
    logger,
    contentFor: (node, purpose) => contentFor(content, node, purpose),
  })
  const door: ClusterDoor = { cluster, serverIdentity: serverIdentityOf(cluster) }
  const network = composeNetwork({ client, cluster, door }, settings, surroundings)
  const watchdog = new ClusterWatchdog({
    cluster: cluster.name,
    freshness: cluster.claims.freshness,
    clock,
    logger,
    endSessions: () => {
      for (const session of network.sessions.all) session.end('cluster-unavailable')
      for (const agent of network.agents.all) agent.end('refused')
    },
  })
  const groups = new LocalGroups({ source: client.resource(API_SERVICES), clock, logger })
  return {
    cluster,
    door,
    certificates: new NodeCertificates({ ...content, ownUser, keeper, clock, audit, metrics }),
    kubeProxy: new KubeProxyAccount({ client, namespace: cluster.namespace, audit }),
    groups,
    network,
    watchdog,
    // Claims and certificates first: whoever is let in is judged by them.
    parts: [...cluster.parts, keeper, groups, ...network.parts, watchdog],
  }
}

/** What a cluster shows on the hub's port: the same object until the certificate changes, which the listener goes by. */
function serverIdentityOf(cluster: OpenCluster): ClusterDoor['serverIdentity'] {
  const identity = () => {
    const { certificatePem, keyPem } = cluster.serverCertificate()
    return { certificatePem, privateKeyPem: keyPem }
  }
  let current = identity()
  cluster.onServerCertificate(() => {
    current = identity()
  })
  return () => current
}

/** Who we are to the API server: it vouches for the creator of a signing request by that name. */
async function whoAmI(client: KubeClient): Promise<string> {
  const review = await explained('find out as whom the hub works', () => client.resource(selfSubjectReviews).create({}))
  return review.status?.userInfo?.username ?? ''
}
