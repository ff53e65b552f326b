/**
 * `causeway hub`: the cloud side.
 */
import type { Command } from 'commander'
import { Hub } from '../hub/hub.ts'
import { ControlSocket } from '../process/control-socket.ts'
import { BUILD } from './build.ts'
import { addRoleFlags } from './config/flags.ts'
import { type HubConfig, hubRole } from './config/hub.ts'
import { loadConfig } from './config/load.ts'
import type { CommandContext } from './context.ts'
import { describeHub, describeNodes } from './control-answers.ts'
import { servedClusters } from './hub-settings.ts'
import { roleSurroundings } from './role-surroundings.ts'
import { addressRemedy, runRole } from './run-role.ts'

const HELP = `
Runs until stopped. Prints a line that starts with "ready" on stdout once it
serves; logs go to stderr. Everything it has to remember is in the cluster, in
its namespace: any number of hubs may run beside each other, behind one address.

Examples:
  causeway hub --kubeconfig ~/.kube/config --advertise hub.example.com,203.0.113.7
  kubectl apply -f deploy/hub-rbac.yaml      # the rights it needs, and no more
  causeway token create --node edge-1 > token
`

export function addHubCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('hub')
    .description('run the cloud side, to which edges connect')
    .addHelpText('after', HELP)
    .action(async (flags: Record<string, unknown>) => {
      const { environment, workingDir } = context
      await runHub(context, loadConfig(hubRole, { flags, environment, workingDir }).values)
    })
  addRoleFlags(command, hubRole)
}

async function runHub(context: CommandContext, config: HubConfig): Promise<void> {
  const clusters = await servedClusters(context, config)
  const { clock, logger, health, registry, net, dataDir, healthServer } = roleSurroundings(context, hubRole, config)
  const hub = new Hub({
    clusters,
    clock,
    logger,
    registry,
    listen: config.listen,
    joinListen: config.joinListen,
    certificateLifeMs: config.certificateLife,
    renewalGraceMs: config.renewalGrace,
  })
  const control = new ControlSocket(config.dataDir, net, {
    '/v1/status': () => ({ role: 'hub', version: BUILD.version, pid: process.pid, hub: describeHub(hub) }),
    '/v1/nodes': () => describeNodes(hub),
  })
  const addresses = { listen: config.listen, healthAddress: config.healthAddress }
  const run = {
    name: hubRole.name,
    // The folder first and therefore last to go; health before what takes time; control once there is something to tell.
    parts: [dataDir, healthServer, hub, control],
    logger,
    net,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(
      hubRole,
      config.joinListen === undefined ? addresses : { ...addresses, joinListen: config.joinListen },
    ),
    onReady: () => context.stdout.write(`ready  causeway hub ${BUILD.version} on ${hub.url}\n`),
  }
  try {
    await runRole(context, run, (lifecycle) => {
      health.addReadiness('lifecycle', () => lifecycle.health())
      health.addReadiness('data-dir', () => dataDir.health())
      for (const { name } of clusters) health.addReadiness(`cluster-${name}`, () => hub.clusterHealth(name))
    })
  } finally {
    await Promise.all(clusters.map(({ client }) => client.close()))
  }
}
