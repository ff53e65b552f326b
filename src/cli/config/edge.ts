/**
 * The configuration of `causeway edge`.
 */
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, optional, type Role, type ValuesOf } from './option.ts'
import { replicaOptions } from './replica.ts'
import { filePath, integer, listenAddress, listOf, oneOf, onOff, text } from './values.ts'

const options = {
  hub: option({
    type: listOf(text),
    default: '',
    description: 'address of the hub, such as https://hub.example.com:10000; remembered after joining',
  }),
  tokenFile: optional({
    type: text,
    description: 'file with the join token, or - for standard input; the file is removed after joining',
  }),
  nodeName: optional({ type: text, description: 'name of this node in the cluster; without it the host name' }),
  dataDir: option({
    type: filePath,
    default: '/var/lib/causeway',
    description: 'folder for certificates, keys and everything this node keeps; made if missing',
  }),
  caCert: optional({ type: filePath, description: "the hub's CA, when you bring certificates of your own" }),
  edgeCert: optional({ type: filePath, description: 'certificate of this node, signed by that CA' }),
  edgeKey: optional({ type: filePath, description: 'key of --edge-cert' }),
  endpointPort: option({
    type: integer(0, 65_535),
    default: '10550',
    description: 'port of the endpoint that plays API server for this node; 0 picks a free one at each start',
  }),
  endpointAddress: option({
    type: listOf(text),
    default: '169.254.30.10',
    description:
      'address for it besides 127.0.0.1, which pods reach too, on an interface of our own; several, also of IPv6, and ::1 in place of 127.0.0.1; none: only 127.0.0.1',
  }),
  writeKubeletKubeconfig: option({
    type: onOff,
    default: 'false',
    description: 'keep kubelet.kubeconfig and kube-proxy.kubeconfig in --data-dir, which lead to the endpoint',
  }),
  disabledResourceFilters: option({
    type: listOf(text),
    alias: 'disableResourceFilters',
    default: '',
    description:
      'filters to leave out: masterservice, forwardkubesvctraffic, inclusterconfig, serviceenv, localendpoints; * is all',
  }),
  nat: option({
    type: onOff,
    default: 'false',
    description:
      "where no kube-proxy runs: lead the cluster's own address of the API server to the endpoint, by nftables",
  }),
  ...replicaOptions,
  kubernetesCa: optional({
    type: filePath,
    description: 'CA of the API server, when you bring certificates of your own; with --apiserver-name',
  }),
  apiserverName: optional({ type: text, description: "name in the API server's certificate; with --kubernetes-ca" }),
  target: option({
    type: listOf(text),
    default: '',
    description:
      'HOST:PORT:LOCAL_PORT to listen on here and lead through the hub; kube-apiserver is a HOST that every hub knows',
  }),
  bindAddress: optional({
    type: text,
    description: 'address for those ports; put on an interface of our own if this machine does not have it',
  }),
  allowDestination: option({
    type: listOf(text),
    default: '',
    description: 'HOST:PORT that the cloud may reach from this node besides its kubelet; PORT may be *, HOST a range',
  }),
  carrier: option({
    type: oneOf('carrier', ['auto', 'tls', 'websocket']),
    default: 'auto',
    description: 'how to reach the hub: straight TLS, a WebSocket, or auto: the first that gets through',
  }),
  innerTls: option({
    type: onOff,
    default: 'false',
    description: 'for a proxy that ends TLS on the way: a second TLS inside the WebSocket, which the proxy cannot read',
  }),
  outerCa: optional({
    type: filePath,
    description: 'with --inner-tls: CA of that proxy; without it those of the system',
  }),
  konnectivityServer: optional({
    type: listenAddress,
    description: 'HOST:PORT of a stock konnectivity server, to be its agent in place of joining a hub',
  }),
  agentCert: optional({
    type: filePath,
    description: 'with --konnectivity-server: certificate of the agent; with --ca-cert',
  }),
  agentKey: optional({ type: filePath, description: 'key of --agent-cert' }),
  healthAddress: option({
    type: listenAddress,
    default: '127.0.0.1:10554',
    description:
      'where /healthz, /livez, /readyz and /metrics are served, without authentication; port 0 picks a free port',
  }),
  drainTimeout,
  logLevel,
  logFormat,
}

export type EdgeConfig = ValuesOf<typeof options>

export const edgeRole: Role<typeof options> = { name: 'edge', options }
