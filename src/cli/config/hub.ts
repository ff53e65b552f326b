/**
 * The configuration of `causeway hub`.
 */
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, optional, type Role, type ValuesOf } from './option.ts'
import { filePath, ipAddress, listenAddress, listOf, period, text } from './values.ts'

const options = {
  kubeconfig: optional({
    type: filePath,
    description: 'how to reach the API server; without it KUBECONFIG, ~/.kube/config or the pod this runs in',
  }),
  namespace: option({
    type: text,
    default: 'causeway-system',
    description: "namespace of the hub's objects; all hubs of a cluster share them",
  }),
  listen: option({
    type: listenAddress,
    default: '0.0.0.0:10000',
    description: 'where edges connect; port 0 picks a free one',
  }),
  joinListen: optional({
    type: listenAddress,
    description: 'a second address for joining alone, such as 0.0.0.0:10002',
  }),
  advertise: option({
    type: listOf(text),
    default: '',
    description: 'DNS names and IP addresses by which edges reach the hub; without it all of this machine',
  }),
  dataDir: option({
    type: filePath,
    default: '.causeway/hub',
    description: 'folder for the lock and the control socket; made if missing',
  }),
  caCert: optional({
    type: filePath,
    description: 'CA of the edges, in place of the one in the cluster; with --ca-key',
  }),
  caKey: optional({ type: filePath, description: 'key of --ca-cert: RSA or EC, in any common PEM form' }),
  serverCert: optional({ type: filePath, description: "the hub's own certificate; with --server-key" }),
  serverKey: optional({ type: filePath, description: 'key of --server-cert' }),
  kubernetesCa: optional({
    type: filePath,
    description: "CA of the API server, as edges shall see it; without it the one in the hub's own kubeconfig",
  }),
  apiserverName: optional({
    type: text,
    description: "name in the API server's certificate; without it the host in the hub's own kubeconfig",
  }),
  certificateLife: option({
    type: period,
    default: '365d',
    description: 'how long the certificate of an edge is good; it is renewed after 70-90 % of that',
  }),
  renewalGrace: option({
    type: period,
    default: '90d',
    description: 'how long after its end a certificate may still renew itself',
  }),
  endpointAddresses: option({
    type: listOf(ipAddress),
    default: '127.0.0.1,::1,169.254.30.10',
    description: 'addresses that the serving certificate of a node may speak for, besides those of the cluster',
  }),
  nodeEndpointAddresses: option({
    type: listOf(text),
    default: '',
    description: 'the same for the nodes of a pattern, in place of the above: edge-*=127.0.0.1+10.9.0.1',
  }),
  kubernetesCertificateLife: option({
    type: period,
    default: '30d',
    description: 'life to ask for in certificates that the cluster signs for nodes; it cannot revoke them',
  }),
  clusterDomain: option({ type: text, default: 'cluster.local', description: "the cluster's DNS domain" }),
  healthAddress: option({
    type: listenAddress,
    default: '127.0.0.1:10553',
    description:
      'where /healthz, /livez, /readyz and /metrics are served, without authentication; port 0 picks a free port',
  }),
  drainTimeout,
  logLevel,
  logFormat,
}

export type HubConfig = ValuesOf<typeof options>

export const hubRole: Role<typeof options> = { name: 'hub', options }
