/** What the settings of a hub mean: shared by `causeway hub` and `causeway up`. */
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import type { ServedCluster } from '../hub/compose.ts'
import type { ClusterSettings } from '../hub/compose-cluster.ts'
import { tokenCovers } from '../identity/join-token.ts'
import type { PairPaths } from '../identity/pair-file.ts'
import { KubeClient } from '../kube/client/client.ts'
import { canonicalIpAddress } from '../network/ip-address.ts'
import type { ListenAddress } from '../network/listen.ts'
import { type ClusterConfig, type HubConfig, hubRole, type ListedClusterConfig } from './config/hub.ts'
import { loadConfig } from './config/load.ts'
import type { CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { networkSettings } from './hub-network-settings.ts'
import { connectionOf } from './kube-connection.ts'

const defaultName = 'default'

/** The clusters of a hub: those that are listed, or the one that its flags describe. */
export async function servedClusters(
  context: CommandContext,
  config: HubConfig,
): Promise<[ServedCluster, ...ServedCluster[]]> {
  const [first, ...others] = config.clusters
  if (first === undefined) return [await servedCluster(context, { ...config, ...onlyCluster }, config.listen)]
  checkListed(config)
  const served: [ServedCluster, ...ServedCluster[]] = [await servedCluster(context, first, config.listen)]
  for (const cluster of others) served.push(await servedCluster(context, cluster, config.listen))
  return served
}

const onlyCluster = { name: defaultName, serverNames: [], default: true }

function checkListed({ clusters }: HubConfig): void {
  if (clusters.filter((cluster) => cluster.default).length > 1)
    throw new UsageError('clusters: only one can be the default')
  const names = clusters.flatMap(namesOf).map((name) => name.toLowerCase())
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`clusters: ${twice} is the server name of two clusters`)
  const called = clusters.map(calledOf)
  const same = called.find((name, index) => called.indexOf(name) !== index)
  if (same !== undefined) throw new UsageError(`clusters: two are called ${same}, in logs, metrics and health checks`)
  const nameless = clusters.findIndex((cluster) => namesOf(cluster).length === 0 && !cluster.default)
  if (clusters.length > 1 && nameless >= 0)
    throw new UsageError(`clusters: number ${nameless + 1} has no DNS name, so that no edge could ask for it`)
}

function namesOf({ serverNames, advertise }: ListedClusterConfig): readonly string[] {
  return serverNames.length > 0 ? serverNames : advertise.filter((name) => isIP(name) === 0)
}

function calledOf(config: ListedClusterConfig): string {
  return config.name ?? namesOf(config)[0] ?? defaultName
}

async function servedCluster(
  context: CommandContext,
  config: ListedClusterConfig,
  listen: ListenAddress,
): Promise<ServedCluster> {
  const client = new KubeClient(await connectionOf(context, config.kubeconfig), { clock: context.clock })
  const serverNames = namesOf(config)
  return {
    ...clusterSettings(config, client, listen),
    name: calledOf(config),
    serverNames,
    isDefault: config.default,
  }
}

function clusterSettings(
  config: ClusterConfig,
  client: KubeClient,
  listen: ListenAddress,
): Omit<ClusterSettings, 'name'> {
  const caFiles = filePair(config.caCert, config.caKey, ['--ca-cert', '--ca-key'])
  const serverFiles = filePair(config.serverCert, config.serverKey, ['--server-cert', '--server-key'])
  return {
    client,
    namespace: config.namespace,
    addresses: config.advertise.length === 0 ? defaultAdvertised(listen) : config.advertise,
    caFiles: caFiles && { ...caFiles, previous: config.caPrevious },
    serverFiles,
    kubernetesCaFile: config.kubernetesCa,
    apiServerName: config.apiserverName,
    kubernetesCertificateLifeMs: config.kubernetesCertificateLife,
    clusterDomain: config.clusterDomain,
    endpointAddressesOf: endpointAddressChooser(config.endpointAddresses, config.nodeEndpointAddresses),
    ...networkSettings(config, client),
  }
}

/** The cluster of `up`, and for the rest what a hub does unless told otherwise. */
export function upHubOptions(client: KubeClient, addresses: readonly string[]) {
  const { values } = loadConfig(hubRole, { flags: {}, environment: {}, workingDir: '/' })
  const settings = clusterSettings({ ...values, advertise: addresses }, client, values.listen)
  const cluster: ServedCluster = { ...settings, name: defaultName, serverNames: [], isDefault: true }
  const clusters: readonly [ServedCluster] = [cluster]
  return { clusters, certificateLifeMs: values.certificateLife, renewalGraceMs: values.renewalGrace }
}

/** By which names edges may reach a hub that was told none: those of this machine, or the one address it listens on. */
function defaultAdvertised({ host }: ListenAddress): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host]
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const usable = addresses.filter(({ address, scopeid }) => !address.includes('%') && !scopeid)
  return [hostname().toLowerCase(), 'localhost', ...new Set(usable.map(({ address }) => address))]
}

/** The files of a pair, where both are given; undefined where none is. Throws where there is only one. */
function filePair(
  certificate: string | undefined,
  key: string | undefined,
  flags: readonly [string, string],
): PairPaths | undefined {
  if (certificate === undefined && key === undefined) return undefined
  if (certificate !== undefined && key !== undefined) return { certificate, key }
  const [given, missing] = certificate === undefined ? flags.toReversed() : flags
  throw new CommandError(`${given} needs ${missing} too: a certificate is of no use without its key`)
}

interface AddressRule {
  readonly pattern: string
  readonly addresses: readonly string[]
}

/** The addresses of a node: those of the first pattern that matches its name, else those of all. */
function endpointAddressChooser(
  common: readonly string[],
  rules: readonly string[],
): (node: string) => readonly string[] {
  const parsed = rules.map(parseRule)
  return (node) => parsed.find(({ pattern }) => tokenCovers(pattern, node))?.addresses ?? common
}

function parseRule(rule: string): AddressRule {
  const [pattern = '', list = '', ...rest] = rule.split('=')
  const addresses = list.split('+').map((address) => canonicalIpAddress(address))
  if (pattern === '' || rest.length > 0 || addresses.includes(undefined))
    throw new UsageError(
      `--node-endpoint-addresses: ${JSON.stringify(rule)} is not of the form PATTERN=IP+IP, such as edge-*=127.0.0.1+10.9.0.1`,
    )
  return { pattern, addresses: addresses.filter((address) => address !== undefined) }
}
