/**
 * The configuration of `causeway up`.
 */
import { LOG_LEVELS } from '../../telemetry/logger.ts'
import { option, type Role, type ValuesOf } from './option.ts'
import { duration, filePath, listenAddress, oneOf } from './values.ts'

const options = {
  dataDir: option({
    type: filePath,
    default: '.causeway',
    description: 'folder for everything this command keeps; made if missing, one "up" at a time',
  }),
  // Next to the edge endpoint's 10550 and away from the kubelet's and the control plane's 1025x.
  healthAddress: option({
    type: listenAddress,
    default: '127.0.0.1:10551',
    description:
      'where /healthz, /livez, /readyz and /metrics are served, without authentication; port 0 picks a free port',
  }),
  // With the time to drop what remains, well below the 30 s Kubernetes gives a pod.
  drainTimeout: option({
    type: duration,
    default: '10s',
    description: 'how long a stop waits for what is under way',
  }),
  logLevel: option({
    type: oneOf('level', LOG_LEVELS),
    default: 'info',
    description: `least severe messages to log: ${LOG_LEVELS.join(', ')}`,
  }),
  logFormat: option({
    type: oneOf('format', ['auto', 'human', 'json']),
    default: 'auto',
    description: 'human, json, or auto: human on a terminal and json elsewhere',
  }),
}

export type UpConfig = ValuesOf<typeof options>

export const upRole: Role<typeof options> = { name: 'up', options }
