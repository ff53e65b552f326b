/**
 * `causeway up`: everything there is, on this machine, in one process. The list of parts below is the program.
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { Registry } from 'prom-client'
import { ApiServer } from '../apiserver/api-server.ts'
import { LmdbStore } from '../apiserver/storage/lmdb-store.ts'
import type { EdgeStatus } from '../edge/edge.ts'
import { kubernetesVersion } from '../kube/schema/schema.ts'
import type { ListenAddress } from '../network/listen.ts'
import { ControlSocket } from '../process/control-socket.ts'
import { BUILD } from './build.ts'
import { addRoleFlags } from './config/flags.ts'
import { loadConfig } from './config/load.ts'
import { type UpConfig, upRole } from './config/up.ts'
import type { CommandContext } from './context.ts'
import { describeHub, describeNodes } from './control-answers.ts'
import { describeFeeds } from './edge-feeds.ts'
import { renderReadyScreen } from './ready-screen.ts'
import { replicaSettings } from './replica-settings.ts'
import { roleSurroundings } from './role-surroundings.ts'
import { addressRemedy, runRole } from './run-role.ts'
import { changeCable, describeCables } from './up-cables.ts'
import { UpEdge, type UpEdgeOptions, UpHub } from './up-roles.ts'

const HELP = `
Runs until stopped. Prints a screen that starts with "ready" on stdout once it
serves; logs go to stderr. The first Ctrl-C or SIGTERM lets what is under way
end and exits 0; a second one exits at once.

A flag wins over its environment variable (in brackets), that over the file,
that over the default. "causeway config print" shows where each value is from.

Examples:
  causeway up
  kubectl --kubeconfig .causeway/admin.kubeconfig get namespaces
  causeway nodes --data-dir .causeway
  causeway link cut edge-1
  causeway up --data-dir /tmp/try --secure-port 0 --hub-port 0 --edge-port 0 \\
    --endpoint-port 0 --health-address 127.0.0.1:0
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
  const { clock, logger, health, registry, net, dataDir, healthServer } = roleSurroundings(context, upRole, config)
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
  const hub = new UpHub({
    clock,
    logger,
    registry,
    kubeconfig: () => apiServer.adminKubeconfig,
    listen: { host: '127.0.0.1', port: config.hubPort },
  })
  const edges = upEdges(config, { clock, logger, registry, upHub: hub, replica: replicaSettings(config) })
  const answers = {
    '/v1/status': () => ({
      role: upRole.name,
      version: BUILD.version,
      pid: process.pid,
      apiserver: { url: apiServer.url },
      hub: describeHub(hub.hub),
      edges: edges.map(({ status }) => status),
    }),
    '/v1/nodes': () => describeNodes(hub.hub),
    '/v1/link': () => describeCables(edges),
    '/v1/feeds': () => edges.flatMap(({ name, feeds }) => describeFeeds(name, feeds)),
  }
  const control = new ControlSocket(config.dataDir, net, answers, { '/v1/link': (words) => changeCable(edges, words) })
  const run = {
    name: upRole.name,
    parts: [
      // First and therefore last to go: nothing may touch the folder without holding it.
      dataDir,
      // Before everything that takes time to start or to stop, so that probes can watch it happen.
      healthServer,
      // The control plane that everything else talks to.
      apiServer,
      // The cloud side, in that cluster.
      hub,
      // The nodes, each joined by a token of its own.
      ...edges,
      // Once there is something to tell.
      control,
    ],
    logger,
    net,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(upRole, {
      securePort: address,
      hubPort: { host: '127.0.0.1', port: config.hubPort },
      edgePort: { host: '127.0.0.1', port: config.edgePort },
      endpointPort: { host: '127.0.0.1', port: config.endpointPort },
      healthAddress: config.healthAddress,
    }),
    onReady: () => {
      const screen = renderReadyScreen({
        version: BUILD.version,
        kubernetes: kubernetesVersion(),
        pid: process.pid,
        dataDir: config.dataDir,
        kubeconfig: apiServer.adminKubeconfig,
        server: apiServer.url,
        hub: hub.hub.url,
        edges: edges.map(({ name }) => name),
        endpoint: endpointOf(edges[0]?.status),
        throughEdge: edges[0]?.status.network.forwards[0]?.listen,
        healthAddress: healthServer.boundAddress,
      })
      context.stdout.write(screen)
    },
  }
  await runRole(context, run, (lifecycle) => {
    health.addReadiness('lifecycle', () => lifecycle.health())
    health.addReadiness('data-dir', () => dataDir.health())
    for (const edge of edges) {
      health.addReadiness(edge.name, () => edge.health())
      health.addReadiness(`${edge.name}-endpoint`, () => edge.endpointHealth())
    }
  })
}

/** Once it is open: it waits for a certificate, which the cluster of `up` signs within a moment. */
function endpointOf(status: EdgeStatus | undefined): ListenAddress | undefined {
  const [host] = status?.endpoint?.addresses ?? []
  return host === undefined ? undefined : { host, port: status?.endpoint?.port ?? 0 }
}

/** The metrics of the first stand for all: those of the others would have the same names. */
function upEdges(
  config: UpConfig,
  common: Omit<UpEdgeOptions, 'node' | 'folder' | 'apiServerPort' | 'endpointPort'>,
): UpEdge[] {
  const folder = join(config.dataDir, 'edges')
  return Array.from({ length: config.edges }, (_, index) => {
    const isFirst = index === 0
    const registry = isFirst ? common.registry : new Registry()
    const apiServerPort = isFirst ? config.edgePort : undefined
    const endpointPort = isFirst ? config.endpointPort : 0
    return new UpEdge({ ...common, apiServerPort, endpointPort, registry, node: `edge-${index + 1}`, folder })
  })
}
