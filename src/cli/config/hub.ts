/**
 * The configuration of `causeway hub`. A hub usually serves one cluster, which the flags describe; several are listed under
 * `clusters` in the file, each with the same keys.
 */

import { PROXY_STRATEGIES } from '../../hub/routing/proxy-strategies.ts'
import { USUAL_HUB_NAMESPACE } from '../../protocol/names.ts'
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, optional, type Role, type ValuesOf } from './option.ts'
import { recordsOf } from './records.ts'
import {
  addressRange,
  filePath,
  integer,
  ipAddress,
  listenAddress,
  listOf,
  onOff,
  orderOf,
  period,
  text,
} from './values.ts'

const clusterOptions = {
  kubeconfig: optional({
    type: filePath,
    description: 'how to reach the API server; without it KUBECONFIG, ~/.kube/config or the pod this runs in',
  }),
  namespace: option({
    type: text,
    default: USUAL_HUB_NAMESPACE,
    description: "namespace of the hub's objects; all hubs of a cluster share them",
  }),
  advertise: option({
    type: listOf(text),
    default: '',
    description: 'DNS names and IP addresses by which edges reach the hub; without it all of this machine',
  }),
  caCert: optional({
    type: filePath,
    description: 'CA of the edges, in place of the one in the cluster; with --ca-key',
  }),
  caKey: optional({ type: filePath, description: 'key of --ca-cert: RSA or EC, in any common PEM form' }),
  caPrevious: optional({ type: filePath, description: 'CAs before --ca-cert whose certificates still count' }),
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
  apiserver: option({
    type: listOf(text),
    default: '',
    description:
      'HOST:PORT of the API server, as edges shall reach it; several are tried in turn; without it the kubeconfig',
  }),
  allowTarget: option({
    type: listOf(text),
    default: '',
    description: 'HOST:PORT that edges may reach besides the API server; NODES=HOST:PORT for some of them only',
  }),
  connectFront: option({
    type: listOf(text),
    default: '',
    description:
      'where the control plane reaches into the edge by HTTP CONNECT: unix:PATH[,group=GROUP], or HOST:PORT with mutual TLS',
  }),
  grpcFront: option({
    type: listOf(text),
    default: '',
    description: "the same in konnectivity's protocol: unix:PATH[,group=GROUP]",
  }),
  frontClientCa: optional({
    type: filePath,
    description: 'CA of those who may use a front on a TCP port',
  }),
  frontClientNames: option({
    type: listOf(text),
    default: '',
    description: 'common names that may; without it every client of that CA',
  }),
  konnectivityAgentServiceAccount: option({
    type: listOf(text),
    default: '',
    description:
      'NS/NAME whose pods may connect as stock konnectivity agents by their token; by certificate every node may',
  }),
  konnectivityServerCount: option({
    type: integer(1, 64),
    default: '1',
    description: 'how many hubs a stock konnectivity agent shall connect to',
  }),
  serviceCidr: option({
    type: listOf(addressRange),
    default: '10.96.0.0/12',
    description: "ranges of the cluster's Services, which no Node may claim as its own",
  }),
  proxyStrategies: option({
    type: orderOf('strategy', PROXY_STRATEGIES),
    default: 'destHost,defaultRoute,default',
    description: "how a front chooses the edge for a destination that is no Node's own",
  }),
  defaultNodes: optional({
    type: text,
    description: 'label selector of the nodes that the strategy "default" may use; without it all',
  }),
}

const listedClusterOptions = {
  name: optional({ type: text, description: 'what it is called in logs' }),
  serverNames: option({
    type: listOf(text),
    default: '',
    description: 'DNS names by which edges ask for it; without it the DNS names in advertise',
  }),
  default: option({ type: onOff, default: 'false', description: 'gets the edges that name no server' }),
  ...clusterOptions,
}

const options = {
  ...clusterOptions,
  clusters: option({
    type: recordsOf('clusters', listedClusterOptions),
    default: '',
    description:
      'several clusters behind one port, in the file: name, serverNames, default, and the settings of one cluster',
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
  dataDir: option({
    type: filePath,
    default: '.causeway/hub',
    description: 'folder for the lock and the control socket; made if missing',
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
/** The settings of one cluster. */
export type ClusterConfig = ValuesOf<typeof clusterOptions>
export type ListedClusterConfig = ValuesOf<typeof listedClusterOptions>

export const hubRole: Role<typeof options> = { name: 'hub', options }
