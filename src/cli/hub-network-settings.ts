/** What the settings of a hub mean for the bytes that pass through it. */

import type { FrontPlace, NetworkSettings } from '../hub/compose-network.ts'
import { parseTargetRule, TargetRuleError } from '../hub/targets/target-rule.ts'
import { type Certificate, readCertificates } from '../identity/certificate.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { parseLabelSelector } from '../kube/selectors/label.ts'
import { type HostPort, hostPortOfUrl, parseHostPort } from '../network/host-port.ts'
import { readRegularFile } from '../runtime/files/regular-file.ts'
import type { ClusterConfig } from './config/hub.ts'
import { readValue } from './config/read-value.ts'
import { listenAddress } from './config/values.ts'
import { UsageError } from './failure.ts'
import { readGroupId } from './group-id.ts'

const unixPrefix = 'unix:'
const groupPrefix = 'group='
const unixForm = 'unix:PATH or unix:PATH,group=GROUP'

export function networkSettings(config: ClusterConfig, client: KubeClient): NetworkSettings {
  const selector = config.defaultNodes === undefined ? undefined : readSelector(config.defaultNodes)
  return {
    apiServers: config.apiserver.length > 0 ? config.apiserver.map(readAddress) : addressesOf(client),
    targetRules: config.allowTarget.map(readRule),
    proxyStrategies: config.proxyStrategies,
    serviceCidrs: config.serviceCidr,
    agentServiceAccounts: config.konnectivityAgentServiceAccount.map(readServiceAccount),
    konnectivityServerCount: config.konnectivityServerCount,
    defaultSelector: selector,
    connectFronts: wholePlaces(config.connectFront).map((place) => readFront(place, '--connect-front', config)),
    grpcFronts: wholePlaces(config.grpcFront).map((place) => {
      if (!place.startsWith(unixPrefix)) throw new UsageError(`--grpc-front: ${place} is not of the form ${unixForm}`)
      return readFront(place, '--grpc-front', config)
    }),
  }
}

function addressesOf({ connection }: KubeClient): readonly HostPort[] {
  const address = hostPortOfUrl(new URL(connection.server))
  if (address === undefined)
    throw new UsageError(
      `the server ${connection.server} of the kubeconfig is no address to connect to; use --apiserver`,
    )
  return [address]
}

function readAddress(text: string): HostPort {
  const address = parseHostPort(text)
  if (address === undefined) throw new UsageError(`--apiserver: ${JSON.stringify(text)} is not of the form HOST:PORT`)
  return address
}

function readRule(text: string) {
  try {
    return parseTargetRule(text)
  } catch (error) {
    if (error instanceof TargetRuleError) throw new UsageError(`--allow-target: ${error.message}`, { cause: error })
    throw error
  }
}

function readServiceAccount(text: string): string {
  if (/^[^/]+\/[^/]+$/.test(text)) return text
  throw new UsageError(
    `--konnectivity-agent-service-account: ${JSON.stringify(text)} is not of the form NAMESPACE/NAME`,
  )
}

function readSelector(text: string) {
  try {
    return parseLabelSelector(text)
  } catch (error) {
    throw new UsageError(`--default-nodes: ${(error as Error).message}`, { cause: error })
  }
}

/** Flags are lists with commas between: what belongs to a socket has been parted from it. */
function wholePlaces(pieces: readonly string[]): readonly string[] {
  const places: string[] = []
  for (const piece of pieces) {
    const before = places.at(-1)
    const isRest = piece.startsWith(groupPrefix) && before?.startsWith(unixPrefix) === true
    if (isRest) places[places.length - 1] = `${before},${piece}`
    else places.push(piece)
  }
  return places
}

function readUnixFront(text: string, flag: string): FrontPlace {
  const [path = '', group, ...more] = text.slice(unixPrefix.length).split(`,${groupPrefix}`)
  if (path === '') throw new UsageError(`${flag}: unix: needs a path`)
  if (group === undefined) return { kind: 'unix', path }
  if (more.length > 0) throw new UsageError(`${flag} ${text}: a socket has one group`)
  try {
    return { kind: 'unix', path, groupId: readGroupId(group) }
  } catch (error) {
    throw new UsageError(`${flag} ${text}: ${(error as Error).message}`, { cause: error })
  }
}

function readFront(text: string, flag: string, config: ClusterConfig): FrontPlace {
  if (text.startsWith(unixPrefix)) return readUnixFront(text, flag)
  if (text.startsWith(groupPrefix)) throw new UsageError(`${flag}: ${text} has to follow a socket: ${unixForm}`)
  const listen = readValue(listenAddress, text, flag)
  if (config.frontClientCa === undefined)
    throw new UsageError(`${flag} ${text} needs --front-client-ca: everybody could reach into the edge otherwise`)
  return { kind: 'tcp', listen, trust: readCas(config.frontClientCa), allowedNames: config.frontClientNames }
}

function readCas(file: string): readonly Certificate[] {
  try {
    return readCertificates(readRegularFile(file), file)
  } catch (error) {
    throw new UsageError(`--front-client-ca: ${(error as Error).message}`, { cause: error })
  }
}
