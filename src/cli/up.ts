/**
 * `causeway up`: everything there is, on this machine, in one process. The list of parts below is the program.
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { ApiServer } from '../apiserver/api-server.ts'
import { LmdbStore } from '../apiserver/storage/lmdb-store.ts'
import { kubernetesVersion } from '../kube/schema/schema.ts'
import { HealthChecks } from '../telemetry/health.ts'
import { HealthServer } from '../telemetry/health-server.ts'
import { componentLogger } from '../telemetry/logger.ts'
import { createRoleRegistry } from '../telemetry/metrics.ts'
import { BUILD } from './build.ts'
import { addRoleFlags } from './config/flags.ts'
import { loadConfig } from './config/load.ts'
import { type UpConfig, upRole } from './config/up.ts'
import type { CommandContext } from './context.ts'
import { DataDir } from './data-dir.ts'
import { renderReadyScreen } from './ready-screen.ts'
import { addressRemedy, openLog, runRole } from './run-role.ts'

const HELP = `
Runs until stopped. Prints a screen that starts with "ready" on stdout once it
serves; logs go to stderr. The first Ctrl-C or SIGTERM lets what is under way
end and exits 0; a second one exits at once.

A flag wins over its environment variable (in brackets), that over the file,
that over the default. "causeway config print" shows where each value is from.

Examples:
  causeway up
  kubectl --kubeconfig .causeway/admin.kubeconfig get namespaces
  causeway up --data-dir /tmp/try --secure-port 0 --health-address 127.0.0.1:0
  CAUSEWAY_UP_LOG_LEVEL=debug causeway up --config up.yaml

A file for --config (paths in it are relative to its folder):
  dataDir: ./data
  securePort: 6443
  logLevel: debug
`

export function addUpCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('up')
    .description('run everything on this machine, in one process')
    .addHelpText('after', HELP)
    .action(async (flags: Record<string, unknown>) => {
      const { environment, workingDir } = context
      await runUp(context, loadConfig(upRole, { flags, environment, workingDir }).values)
    })
  addRoleFlags(command, upRole)
}

async function runUp(context: CommandContext, config: UpConfig): Promise<void> {
  const { clock } = context
  const logger = openLog(context, config)
  const health = new HealthChecks(clock)
  const registry = createRoleRegistry(upRole.name, BUILD)
  const dataDir = new DataDir(config.dataDir, upRole.name)
  const healthLogger = componentLogger(logger, 'health')
  const healthServer = new HealthServer({ address: config.healthAddress, health, registry, logger: healthLogger })
  const address = { host: '127.0.0.1', port: config.securePort }
  const apiServer = new ApiServer({
    dataDir: config.dataDir,
    address,
    dnsNames: [],
    ipAddresses: [],
    clock,
    logger,
    health,
    registry,
    sharesStore: false,
    openStore: () => LmdbStore.open(join(config.dataDir, 'store'), clock),
  })
  const run = {
    name: upRole.name,
    parts: [
      // First and therefore last to go: nothing may touch the folder without holding it.
      dataDir,
      // Before everything that takes time to start or to stop, so that probes can watch it happen.
      healthServer,
      // The control plane that everything else talks to.
      apiServer,
    ],
    logger,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(upRole, { securePort: address, healthAddress: config.healthAddress }),
    onReady: () => {
      const facts = {
        version: BUILD.version,
        kubernetes: kubernetesVersion(),
        pid: process.pid,
        dataDir: config.dataDir,
      }
      const { adminKubeconfig: kubeconfig, url: server } = apiServer
      const roles = ['apiserver']
      context.stdout.write(
        renderReadyScreen({ ...facts, kubeconfig, server, roles, healthAddress: healthServer.boundAddress }),
      )
    },
  }
  await runRole(context, run, (lifecycle) => {
    health.addReadiness('lifecycle', () => lifecycle.health())
    health.addReadiness('data-dir', () => dataDir.health())
  })
}
