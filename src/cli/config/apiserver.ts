/**
 * The configuration of `causeway apiserver`.
 */
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, optional, type Role, type ValuesOf } from './option.ts'
import { filePath, integer, listenAddress, listOf, oneOf, text } from './values.ts'

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
  certNames: option({
    type: listOf(text),
    default: '',
    description: 'further DNS names and IP addresses for the serving certificate',
  }),
  storage: option({
    type: oneOf('backend', ['lmdb', 'memory']),
    default: 'lmdb',
    description: 'where objects are kept: lmdb in the data folder, or memory, which forgets',
  }),
  tokenAuthFile: optional({
    type: filePath,
    description: 'file of bearer tokens: token,user,uid,"group1,group2" a line',
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
