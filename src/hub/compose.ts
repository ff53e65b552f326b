/**
 * The hub, put together. A cluster is everything the hub knows of one control plane; a door is that cluster as strangers
 * meet it; the ports lead to the doors.
 */
import type { Registry } from 'prom-client'
import type { KubeClient } from '../kube/client/client.ts'
import { selfSubjectReviews } from '../kube/client/kinds.ts'
import type { Clock } from '../telemetry/clock.ts'
import type { Part } from '../telemetry/lifecycle.ts'
import type { ListenAddress } from '../telemetry/listen.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { certificateRoutes } from './certificates/certificate-routes.ts'
import { CsrKeeper } from './certificates/csr-keeper.ts'
import { CertificateMetrics } from './certificates/metrics.ts'
import { contentFor, NodeCertificates } from './certificates/node-certificates.ts'
import { auditReleases, createClaimMetrics } from './claims/metrics.ts'
import { explained } from './cluster/cluster-error.ts'
import { type OpenCluster, type OpenClusterOptions, openCluster } from './cluster/open-cluster.ts'
import { Attempts } from './join/attempts.ts'
import { CA_ROUTES } from './join/ca-routes.ts'
import { edgeCertificateRoute } from './join/edge-certificate.ts'
import { createJoinMetrics } from './join/metrics.ts'
import { nodeRoute } from './join/node-route.ts'
import { FailureLimiter, WorkGate } from './serving/admission.ts'
import type { ClusterDoor } from './serving/connection.ts'
import { ConnectionLimits } from './serving/connection-limits.ts'
import { HttpRoutes } from './serving/http-routes.ts'
import { createHttpService } from './serving/http-service.ts'
import { HubListener } from './serving/hub-listener.ts'
import { createServingMetrics } from './serving/metrics.ts'

type ClusterOptions = 'namespace' | 'caFiles' | 'serverFiles' | 'addresses' | 'kubernetesCaFile' | 'apiServerName'

export interface HubOptions extends Pick<OpenClusterOptions, ClusterOptions> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  readonly listen: ListenAddress
  readonly joinListen?: ListenAddress
  /** Of the certificates that edges get from the hub, and how long after their end they may renew themselves. */
  readonly certificateLifeMs: number
  readonly renewalGraceMs: number
  /** Of the certificates that the cluster signs for nodes. */
  readonly kubernetesCertificateLifeMs: number
  readonly clusterDomain: string
  readonly endpointAddressesOf: (node: string) => readonly string[]
}

export interface ComposedHub {
  readonly cluster: OpenCluster
  readonly listener: HubListener
  /** In the order in which they start. */
  readonly parts: readonly Part[]
}

export async function composeHub(options: HubOptions): Promise<ComposedHub> {
  const { clock, registry, client, certificateLifeMs, renewalGraceMs } = options
  const logger = componentLogger(options.logger, 'hub')
  const audit = componentLogger(options.logger, 'audit')
  const cluster = await openCluster({ ...options, logger, certificateUseMs: certificateLifeMs + renewalGraceMs })
  createClaimMetrics(registry, cluster.claims, clock)
  auditReleases(cluster, audit)

  const content = {
    client,
    lifeSeconds: Math.floor(options.kubernetesCertificateLifeMs / 1000),
    clusterDomain: options.clusterDomain,
    endpointAddressesOf: options.endpointAddressesOf,
  }
  const ownUser = await whoAmI(client)
  const certificateMetrics = new CertificateMetrics(registry)
  const csrs = { client, clock, audit, ownUser, metrics: certificateMetrics }
  const keeper = new CsrKeeper({ ...csrs, logger, contentFor: (node, purpose) => contentFor(content, node, purpose) })
  const certificates = new NodeCertificates({ ...content, ...csrs, keeper })

  const gate = new WorkGate()
  const attempts = new Attempts({
    failures: new FailureLimiter(clock),
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
      edgeCertificateRoute({
        clock,
        attempts,
        gate,
        logger,
        lifeMs: certificateLifeMs,
        graceMs: renewalGraceMs,
      }),
      // For nodes, by their certificate.
      nodeRoute({ clock, attempts }),
      ...certificateRoutes({ clock, certificatesOf: () => certificates }),
    ],
    clock,
    metrics,
    logger,
  })
  const http = createHttpService({ routes, clock, logger })
  const door: ClusterDoor = { cluster, serverIdentity: serverIdentityOf(cluster) }
  const limits = new ConnectionLimits()
  const port = (name: string, address: ListenAddress): HubListener =>
    new HubListener({ name, address, choose: () => door, http, limits, metrics, logger })
  const listener = port('hub', options.listen)
  const parts = [
    // Claims and certificates first: whoever is let in is judged by them.
    ...cluster.parts,
    keeper,
    listener,
    ...(options.joinListen === undefined ? [] : [port('join', options.joinListen)]),
  ]
  return { cluster, listener, parts }
}

/** The same object until the certificate changes: the listener goes by that. */
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
