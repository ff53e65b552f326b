/** What every long-running command has around its parts before the first of them: log, health, metrics, safety net, folder. */
import type { Registry } from 'prom-client'
import type { ListenAddress } from '../network/listen.ts'
import { HealthServer } from '../process/health-server.ts'
import { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { HealthChecks } from '../telemetry/health.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { createRoleRegistry } from '../telemetry/metrics.ts'
import { BUILD } from './build.ts'
import type { Role } from './config/option.ts'
import type { CommandContext } from './context.ts'
import { DataDir } from './data-dir.ts'
import { type LogSettings, openLog } from './run-role.ts'

export interface RoleSettings extends LogSettings {
  readonly dataDir: string
  readonly healthAddress: ListenAddress
}

export interface RoleSurroundings {
  readonly clock: Clock
  readonly logger: Logger
  readonly health: HealthChecks
  readonly registry: Registry
  readonly net: SafetyNet
  readonly dataDir: DataDir
  readonly healthServer: HealthServer
}

export function roleSurroundings(
  context: CommandContext,
  { name }: Pick<Role, 'name'>,
  settings: RoleSettings,
  { hasControlSocket = true } = {},
): RoleSurroundings {
  const { clock } = context
  const logger = openLog(context, settings)
  const health = new HealthChecks(clock)
  const registry = createRoleRegistry(name, BUILD)
  const net = new SafetyNet({ clock, logger, registry })
  const dataDir = new DataDir(settings.dataDir, name, { hasControlSocket })
  const healthServer = new HealthServer({
    address: settings.healthAddress,
    health,
    registry,
    clock,
    net,
    logger: componentLogger(logger, 'health'),
  })
  return { clock, logger, health, registry, net, dataDir, healthServer }
}
