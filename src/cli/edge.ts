/**
 * `causeway edge`: the agent on a node, and `causeway edge join`: only its first step.
 */

import { hostname } from 'node:os'
import type { Command } from 'commander'
import type { EdgeNetworkSettings } from '../edge/compose.ts'
import { Edge, type EdgeOptions } from '../edge/edge.ts'
import { HubUrlError, parseHubUrls } from '../edge/hub/hub-url.ts'
import { EdgeFiles } from '../edge/identity/edge-files.ts'
import { type JoinProgress, type JoinResult, joinHub } from '../edge/join/join.ts'
import type { TokenSource } from '../edge/join/token-source.ts'
import { eraseReplica } from '../edge/keeping/replica-files.ts'
import { createHubDial } from '../edge/link/hub-dial.ts'
import { ControlSocket } from '../process/control-socket.ts'
import type { Part } from '../process/lifecycle.ts'
import { systemRandom } from '../runtime/random.ts'
import type { Logger } from '../telemetry/logger.ts'
import { BUILD } from './build.ts'
import { type EdgeConfig, edgeRole } from './config/edge.ts'
import { addRoleFlags } from './config/flags.ts'
import { loadConfig } from './config/load.ts'
import { configFileVariableOf } from './config/option.ts'
import type { CommandContext } from './context.ts'
import { DataDir } from './data-dir.ts'
import { addEdgeFeedsCommand, describeFeeds } from './edge-feeds.ts'
import { edgeNetworkSettings, filterSettings } from './edge-network-settings.ts'
import { CommandError, UsageError } from './failure.ts'
import { LiveSettings } from './live-settings.ts'
import { roleSurroundings } from './role-surroundings.ts'
import { addressRemedy, runRole } from './run-role.ts'

/** Far more than a token; a whole file sent by mistake is cut off. */
const MAX_STANDARD_INPUT_BYTES = 64 * 1024

const HELP = `
Runs until stopped. Prints a line that starts with "ready" on stdout once it
serves; logs go to stderr. With a token it joins first, unless it has already.
Without a link to the hub it starts all the same, once it has joined.

Examples:
  causeway edge --hub https://hub.example.com:10000 --token-file token --node-name edge-1
  causeway edge                       # once joined, everything is in --data-dir
  causeway edge --hub https://hub.example.com:10000 --ca-cert ca.crt --edge-cert edge.crt --edge-key edge.key
  causeway edge --target kube-apiserver:443:6443 --bind-address 169.254.30.10
  causeway edge --feeds node --feeds-include configmaps/shop,*.cilium.io
  causeway edge --feeds-exclude leases.coordination.k8s.io,*/batch-jobs
  causeway edge --konnectivity-server konnectivity.example.com:8132 --ca-cert ca.crt --agent-cert a.crt --agent-key a.key
`

const JOIN_HELP = `
Fetches the hub's CA, compares it with the token, makes a key on this machine,
and has the hub sign a certificate for it. Running it again is safe: it goes on
where it stopped, and does nothing once the node has joined.

Examples:
  causeway edge join --hub https://hub.example.com:10000 --token-file token --node-name edge-1
  ssh admin causeway token create --node edge-1 | causeway edge join --hub https://hub.example.com:10000 --token-file -
`

export function addEdgeCommand(program: Command, context: CommandContext): void {
  const { environment, workingDir } = context
  const edge = program
    .command('edge')
    .description('run the agent of a node')
    .addHelpText('after', HELP)
    .action(async (flags: Record<string, unknown>) => {
      const hasFile = (flags['config'] ?? environment[configFileVariableOf(edgeRole)] ?? '') !== ''
      const read = (): EdgeConfig => loadConfig(edgeRole, { flags, environment, workingDir }).values
      await runEdge(context, { read, hasFile })
    })
  addRoleFlags(edge, edgeRole)
  const join = edge
    .command('join')
    .description('join a hub with a token, and end')
    .addHelpText('after', JOIN_HELP)
    .action(async (_flags: unknown, command: Command) => {
      // "edge" has the same flags, and takes those after "join" for its own.
      const flags = command.optsWithGlobals<Record<string, unknown>>()
      await runJoin(context, loadConfig(edgeRole, { flags, environment, workingDir }).values)
    })
  addRoleFlags(join, edgeRole)
  addEdgeFeedsCommand(edge, context)
}

/** A wrong address is a mistake on the command line: it comes out before anything is done. */
function checkHubs({ hub }: EdgeConfig): void {
  if (hub.length === 0) return
  try {
    parseHubUrls(hub)
  } catch (error) {
    throw error instanceof HubUrlError ? new UsageError(`--hub: ${error.message}`, { cause: error }) : error
  }
}

async function runJoin(context: CommandContext, config: EdgeConfig): Promise<void> {
  checkHubs(config)
  const { clock } = context
  if (config.tokenFile === undefined)
    throw new UsageError('--token-file is missing: name a file, or - for standard input')
  const dataDir = new DataDir(config.dataDir, edgeRole.name)
  const held = await dataDir.start()
  try {
    const result = await joinHub({
      files: new EdgeFiles(config.dataDir),
      hubs: config.hub,
      node: config.nodeName,
      fallbackNode: hostname().toLowerCase(),
      token: await tokenSource(config.tokenFile),
      clock,
      random: systemRandom.fraction,
      dial: createHubDial(clock, edgeNetworkSettings(config, context.environment)),
      forget: () => eraseReplica(config.dataDir),
      progress: (progress) => context.stderr.write(progressLine(progress)),
    })
    context.stdout.write(joinedText(result, config.dataDir))
    if (result.outcome === 'unchecked')
      throw new CommandError(`no hub could be asked whether that still counts: ${result.uncheckedBecause}`)
  } finally {
    await held.stop(AbortSignal.abort())
  }
}

function progressLine({ step, total, text, done }: JoinProgress): string {
  return done ? '' : `[${step}/${total}] ${text}\n`
}

function joinedText({ outcome, identity, tokenFileKept }: JoinResult, dataDir: string): string {
  const [{ notAfterMs }] = identity.pair.chain
  const until = new Date(notAfterMs).toISOString()
  const done = {
    joined: `joined as node ${identity.node}; the certificate is good until ${until}`,
    'already-joined': `node ${identity.node} has joined before; nothing was changed, the certificate is good until ${until}`,
    unchecked: `node ${identity.node} has joined before; nothing was changed`,
  }[outcome]
  const kept = tokenFileKept === undefined ? '' : `warning: the token file is still there: ${tokenFileKept}\n`
  return `${done}\n${kept}next: causeway edge --data-dir ${dataDir}\n`
}

async function tokenSource(file: string): Promise<TokenSource> {
  if (file !== '-') return { kind: 'file', path: file }
  return { kind: 'text', text: await readStandardInput('the join token') }
}

/** A secret from there stands in no argument and in no file. */
async function readStandardInput(what: string): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_STANDARD_INPUT_BYTES)
      throw new CommandError(`standard input has more than ${MAX_STANDARD_INPUT_BYTES} bytes; that is not ${what}`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

interface EdgeSettings {
  readonly read: () => EdgeConfig
  /** Whether there is a file that can change; flags and variables cannot. */
  readonly hasFile: boolean
}

async function runEdge(context: CommandContext, { read, hasFile }: EdgeSettings): Promise<void> {
  const config = read()
  checkHubs(config)
  if (config.konnectivityServer !== undefined) {
    const { runKonnectivityAgent } = await import('./konnectivity-agent.ts')
    return await runKonnectivityAgent(context, config)
  }
  const brought = broughtPaths(config)
  const network = edgeNetworkSettings(config, context.environment)
  const { clock, logger, health, registry, net, dataDir, healthServer } = roleSurroundings(context, edgeRole, config)
  const { tokenFile, nodeName } = config
  const edge = new Edge({
    dataDir: config.dataDir,
    clock,
    logger,
    registry,
    hubs: config.hub,
    node: nodeName,
    fallbackNode: hostname().toLowerCase(),
    token: tokenFile === undefined ? undefined : () => tokenSource(tokenFile),
    brought,
    broughtCluster: brought && broughtCluster(config),
    onJoinProgress: (progress) => logProgress(logger, progress),
    network,
  })
  const control = new ControlSocket(config.dataDir, net, {
    '/v1/status': () => ({ role: 'edge', version: BUILD.version, pid: process.pid, edge: edge.status }),
    '/v1/feeds': () => describeFeeds(edge.status.node, edge.feeds),
  })
  const liveSettings = new LiveSettings<EdgeConfig>({
    present: config,
    read,
    apply: (changed) => {
      edge.configureFilters(filterSettings(changed))
      return ['disabledResourceFilters']
    },
    clock,
    logger,
  })
  const parts: Part[] = [dataDir, healthServer, edge, control, ...(hasFile ? [liveSettings] : [])]
  const run = {
    name: edgeRole.name,
    parts,
    logger,
    net,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(edgeRole, {
      healthAddress: config.healthAddress,
      ...endpointRemedies(network),
    }),
    onReady: () => {
      const { node, hubs } = edge.status
      context.stdout.write(`ready  causeway edge ${BUILD.version}, node ${node}, hub ${hubs.join(', ')}\n`)
    },
  }
  await runRole(context, run, (lifecycle) => {
    health.addReadiness('lifecycle', () => lifecycle.health())
    health.addReadiness('data-dir', () => dataDir.health())
    health.addReadiness('identity', () => edge.health())
    health.addReadiness('endpoint', () => edge.endpointHealth())
    if (network.endpoint?.writeKubeconfigs === true)
      health.addReadiness('kube-proxy-token', () => edge.kubeProxyTokenHealth())
  })
}

/** The endpoint's addresses, by the setting that helps when one is taken. */
function endpointRemedies({ endpoint }: EdgeNetworkSettings) {
  const { loopback = '', addresses = [], port = 0 } = endpoint ?? {}
  return { endpointPort: [loopback, ...addresses].map((host) => ({ host, port })) }
}

function logProgress(logger: Logger, { step, total, text, done }: JoinProgress): void {
  if (!done) logger.info({ step, total }, `joining: ${text}`)
}

function broughtCluster({ kubernetesCa, apiserverName }: EdgeConfig): EdgeOptions['broughtCluster'] {
  if (kubernetesCa === undefined && apiserverName === undefined) return undefined
  if (kubernetesCa === undefined || apiserverName === undefined)
    throw new UsageError('--kubernetes-ca and --apiserver-name belong together: the endpoint needs both')
  return { kubernetesCaFile: kubernetesCa, apiServerName: apiserverName }
}

function broughtPaths({ caCert, edgeCert, edgeKey, tokenFile }: EdgeConfig) {
  const given = { '--ca-cert': caCert, '--edge-cert': edgeCert, '--edge-key': edgeKey }
  const missing = Object.entries(given).filter(([, path]) => path === undefined)
  if (missing.length === 3) return undefined
  if (tokenFile !== undefined) throw new UsageError('give either a token or certificates of your own, not both')
  if (caCert !== undefined && edgeCert !== undefined && edgeKey !== undefined)
    return { hubCa: caCert, certificate: edgeCert, key: edgeKey }
  throw new UsageError(`certificates of your own need ${missing.map(([flag]) => flag).join(' and ')} too`)
}
