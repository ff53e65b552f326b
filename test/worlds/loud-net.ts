/** A safety net for tests that expect nothing to fall into it: what does is thrown where it fails the run. */
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { SafetyNet } from '../../src/process/safety-net.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { Logger } from '../../src/telemetry/logger.ts'

export function loudNet(clock: Clock = systemClock): SafetyNet {
  const error = ({ err }: { readonly err: unknown }): void =>
    process.nextTick(() => {
      throw err
    })
  const logger = { ...(pino({ level: 'silent' }) as Logger), error: error as Logger['error'] }
  return new SafetyNet({ clock, logger, registry: new Registry() })
}
