/**
 * The configuration of `causeway apiserver`.
 */
import { AUTHORIZATION_MODES, DEFAULT_AUTHORIZATION_MODES } from '../../apiserver/auth/mode-names.ts'
import { DEFAULT_CONNECTIONS_PER_ADDRESS } from '../../apiserver/connection-limit.ts'
import { REPLACEABLE_CONTROLLERS } from '../../apiserver/controllers/replaceable.ts'
import { MAX_CONNECTIONS } from '../../http/server/limits.ts'
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, optional, type Role, type ValuesOf } from './option.ts'
import { filePath, integer, listenAddress, listOf, oneOf, onOff, orderOf, outputPath, text } from './values.ts'

const options = {
  dataDir: option({
    type: filePath,
    default: '.causeway/apiserver',
    description: 'folder for objects, certificates, keys and admin.kubeconfig; made if missing',
  }),
  bindAddress: option({
    type: text,
    default: '127.0.0.1',
    description: 'address to listen on; 0.0.0.0 for all',
  }),
  securePort: option({
    type: integer(0, 65_535),
    default: '6443',
    description: 'port for HTTPS; 0 picks a free one',
  }),
  maxConnectionsPerAddress: option({
    type: integer(0, MAX_CONNECTIONS),
    default: String(DEFAULT_CONNECTIONS_PER_ADDRESS),
    description:
      'connections that one address may have open; hubs and load balancers are one address for all behind them; 0 for no limit',
  }),
  certNames: option({
    type: listOf(text),
    default: '',
    description: 'further DNS names and IP addresses for the serving certificate',
  }),
  storage: option({
    type: oneOf('backend', ['lmdb', 'memory']),
    default: 'lmdb',
    description: 'where objects are kept without etcd: lmdb in the data folder, or memory, which forgets',
  }),
  etcdServers: option({
    type: listOf(text),
    default: '',
    description:
      'etcd endpoints such as https://10.0.0.1:2379; objects are then kept there, and several API servers may share them',
  }),
  etcdPrefix: option({ type: text, default: '/registry/', description: 'what all keys in etcd start with' }),
  etcdCafile: optional({ type: filePath, description: 'CA that signed the certificates of etcd' }),
  etcdCertfile: optional({ type: filePath, description: 'client certificate for etcd' }),
  etcdKeyfile: optional({ type: filePath, description: 'key of the client certificate for etcd' }),
  pkiInStore: option({
    type: onOff,
    default: 'true',
    description:
      'with etcd: keep CAs and the ServiceAccount key there, so that all API servers on it believe the same credentials; ' +
      'false keeps them in the data folder',
  }),
  tokenAuthFile: optional({
    type: filePath,
    description: 'file of bearer tokens: token,user,uid,"group1,group2" a line',
  }),
  clientCaFile: optional({
    type: filePath,
    description: 'further CAs whose client certificates are believed, besides our own',
  }),
  authorizationMode: option({
    type: orderOf('mode', AUTHORIZATION_MODES),
    default: DEFAULT_AUTHORIZATION_MODES.join(','),
    description: `who decides what a caller may do, asked in this order: ${AUTHORIZATION_MODES.join(', ')}`,
  }),
  auditLogPath: optional({
    type: outputPath,
    description: 'file for a line of JSON about each request, without bodies and credentials; - is standard output',
  }),
  disableAdmissionPlugins: option({
    type: listOf(text),
    default: '',
    description: 'admission plugins to leave out, such as ServiceAccount',
  }),
  skipControllers: option({
    type: listOf(oneOf('name', REPLACEABLE_CONTROLLERS)),
    default: '',
    description: `controllers to leave to a kube-controller-manager: ${REPLACEABLE_CONTROLLERS.join(', ')}`,
  }),
  healthAddress: option({
    type: listenAddress,
    default: '127.0.0.1:10552',
    description:
      'where /healthz, /livez, /readyz and /metrics are served, without authentication; port 0 picks a free port',
  }),
  drainTimeout,
  logLevel,
  logFormat,
}

export type ApiServerConfig = ValuesOf<typeof options>

export const apiServerRole: Role<typeof options> = { name: 'apiserver', options }
