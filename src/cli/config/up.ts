/**
 * The configuration of `causeway up`.
 */
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, type Role, type ValuesOf } from './option.ts'
import { filePath, integer, listenAddress } from './values.ts'

/** Each is a whole agent in this process; more belong on machines of their own. */
export const MAX_UP_EDGES = 32

const options = {
  dataDir: option({
    type: filePath,
    default: '.causeway',
    description: 'folder for everything this command keeps; made if missing, one "up" at a time',
  }),
  securePort: option({
    type: integer(0, 65_535),
    default: '6443',
    description: 'port of the API server on this machine; 0 picks a free one',
  }),
  hubPort: option({
    type: integer(0, 65_535),
    default: '10000',
    description: 'port of the hub on this machine; 0 picks a free one',
  }),
  edges: option({
    type: integer(0, MAX_UP_EDGES),
    default: '1',
    description: 'how many edges to run: edge-1, edge-2, ...',
  }),
  edgePort: option({
    type: integer(0, 65_535),
    default: '10443',
    description: 'port of edge-1 that leads to the API server through the tunnel; 0 picks a free one',
  }),
  endpointPort: option({
    type: integer(0, 65_535),
    default: '10550',
    description: 'port of the endpoint by which edge-1 plays API server for its programs; 0 picks a free one',
  }),
  // Next to the endpoint's 10550 and away from the kubelet's and the control plane's 1025x.
  healthAddress: option({
    type: listenAddress,
    default: '127.0.0.1:10551',
    description:
      'where /healthz, /livez, /readyz and /metrics are served, without authentication; port 0 picks a free port',
  }),
  drainTimeout,
  logLevel,
  logFormat,
}

export type UpConfig = ValuesOf<typeof options>

export const upRole: Role<typeof options> = { name: 'up', options }
