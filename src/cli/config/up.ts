/**
 * The configuration of `causeway up`.
 */
import { drainTimeout, logFormat, logLevel } from './common.ts'
import { option, type PortClash, type Role, type ValuesOf } from './option.ts'
import { replicaOptions } from './replica.ts'
import { filePath, integer, listenAddress } from './values.ts'

/** Each is a whole agent in this process; more belong on machines of their own. */
const MAX_UP_EDGES = 32

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
  ...replicaOptions,
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

export const upRole: Role<typeof options> = { name: 'up', options, portClashes }

/** Where everything of `up` listens, as a host of the health server would have to be to get in the way. */
const sharedHosts: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '0.0.0.0', '::'])

function portClashes(config: UpConfig): readonly PortClash[] {
  const { securePort, hubPort, edges, edgePort, endpointPort, healthAddress } = config
  const ports: [key: string, port: number][] = [
    ['securePort', securePort],
    ['hubPort', hubPort],
  ]
  // Without an edge nobody listens there.
  if (edges > 0) ports.push(['edgePort', edgePort], ['endpointPort', endpointPort])
  if (sharedHosts.has(healthAddress.host)) ports.push(['healthAddress', healthAddress.port])
  return ports.flatMap(([key, port], index): PortClash[] => {
    const earlier = ports.slice(0, index).find(([, other]) => other === port && port !== 0)
    return earlier === undefined ? [] : [{ port, keys: [earlier[0], key] }]
  })
}
