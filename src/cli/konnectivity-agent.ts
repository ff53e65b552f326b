/**
 * `causeway edge --konnectivity-server`: the edge as an agent of stock konnectivity servers. It joins no hub; who it is, is for
 * those servers to judge.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createDestinations } from '../edge/destinations/destinations.ts'
import { KonnectivityAgent } from '../edge/konnectivity/konnectivity-agent.ts'
import { createKonnectivityMetrics } from '../edge/konnectivity/metrics.ts'
import { formatAddress } from '../network/listen.ts'
import { ControlSocket } from '../process/control-socket.ts'
import { readRegularFile } from '../runtime/files/regular-file.ts'
import { systemRandom } from '../runtime/random.ts'
import { componentLogger } from '../telemetry/logger.ts'
import { Budget } from '../tunnel/yamux/budget.ts'
import { BUILD } from './build.ts'
import { type EdgeConfig, edgeRole } from './config/edge.ts'
import type { CommandContext } from './context.ts'
import { edgeNetworkSettings } from './edge-network-settings.ts'
import { CommandError, UsageError } from './failure.ts'
import { roleSurroundings } from './role-surroundings.ts'
import { addressRemedy, runRole } from './run-role.ts'

export async function runKonnectivityAgent(context: CommandContext, config: EdgeConfig): Promise<void> {
  const { server, files } = checkedSettings(config)
  const { destinationRules: rules } = edgeNetworkSettings(config, context.environment)
  const node = config.nodeName ?? hostname().toLowerCase()
  const { clock, logger, health, registry, net, dataDir, healthServer } = roleSurroundings(context, edgeRole, config)
  const destinations = createDestinations({ node, rules, clock, logger, registry })
  // What cannot be read should be known at the start, not when a server comes back.
  readTls(files)
  const agent = new KonnectivityAgent({
    server,
    tls: () => readTls(files),
    agentId: randomUUID(),
    identifiers: `host=${encodeURIComponent(node)}`,
    clock: net.timers(clock),
    random: systemRandom.fraction,
    net,
    budget: new Budget(),
    logger: componentLogger(logger, 'konnectivity'),
    metrics: createKonnectivityMetrics(registry),
    dial: (target, options) => destinations.connect({ target, ...options }),
  })
  const control = new ControlSocket(config.dataDir, net, {
    '/v1/status': () => ({
      role: 'edge',
      version: BUILD.version,
      pid: process.pid,
      konnectivity: {
        server: formatAddress(server),
        connectedServers: agent.connectedServers,
        streams: agent.streamCount,
      },
    }),
  })
  const run = {
    name: edgeRole.name,
    parts: [dataDir, healthServer, agent, control],
    logger,
    net,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(edgeRole, { healthAddress: config.healthAddress }),
    onReady: () => {
      const about = `agent of the konnectivity servers at ${formatAddress(server)}`
      context.stdout.write(`ready  causeway edge ${BUILD.version}, node ${node}, ${about}\n`)
    },
  }
  await runRole(context, run, (lifecycle) => {
    health.addReadiness('lifecycle', () => lifecycle.health())
    health.addReadiness('data-dir', () => dataDir.health())
  })
}

interface AgentFiles {
  readonly ca: string
  readonly certificate: string
  readonly key: string
}

function checkedSettings(config: EdgeConfig) {
  const { konnectivityServer: server, caCert, agentCert, agentKey } = config
  if (server === undefined) throw new Error('no konnectivity server is configured')
  if (config.target.length > 0)
    throw new UsageError(
      '--target cannot be used with --konnectivity-server: a stock server takes no streams from the edge; join a hub for that',
    )
  if (config.hub.length > 0 || config.tokenFile !== undefined)
    throw new UsageError('give either --hub or --konnectivity-server: an edge serves one of them')
  if (caCert === undefined || agentCert === undefined || agentKey === undefined)
    throw new UsageError('--konnectivity-server needs --ca-cert, --agent-cert and --agent-key')
  return { server, files: { ca: caCert, certificate: agentCert, key: agentKey } }
}

/** Read for every connection: whoever issues these files also replaces them. */
function readTls({ ca, certificate, key }: AgentFiles) {
  try {
    return {
      caPem: readRegularFile(ca).toString('utf8'),
      certificatePem: readRegularFile(certificate).toString('utf8'),
      privateKeyPem: readRegularFile(key).toString('utf8'),
    }
  } catch (error) {
    throw new CommandError(`cannot read the certificates of the agent: ${(error as Error).message}`, { cause: error })
  }
}
