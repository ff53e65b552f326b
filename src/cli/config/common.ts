/** Options that every long-running role has. */
import { LOG_LEVELS } from '../../telemetry/logger.ts'
import { option } from './option.ts'
import { duration, oneOf } from './values.ts'

// With the time to drop what remains, well below the 30 s Kubernetes gives a pod.
export const drainTimeout = option({
  type: duration,
  default: '10s',
  description: 'how long a stop waits for what is under way',
})

export const logLevel = option({
  type: oneOf('level', LOG_LEVELS),
  default: 'info',
  description: `least severe messages to log: ${LOG_LEVELS.join(', ')}`,
})

export const logFormat = option({
  type: oneOf('format', ['auto', 'human', 'json']),
  default: 'auto',
  description: 'human, json, or auto: human on a terminal and json elsewhere',
})
