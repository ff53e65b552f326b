/** What the settings of a hub mean: shared by `causeway hub` and `causeway up`. */
import { hostname, networkInterfaces } from 'node:os'
import { canonicalIpAddress } from '../identity/ip-address.ts'
import { tokenCovers } from '../identity/join-token.ts'
import type { PairPaths } from '../identity/pair-file.ts'
import type { ListenAddress } from '../telemetry/listen.ts'
import { hubRole } from './config/hub.ts'
import { loadConfig } from './config/load.ts'
import { UsageError } from './failure.ts'

/** What a hub does unless told otherwise, with the defaults of its role. */
export const HUB_DEFAULTS = hubDefaults()

function hubDefaults() {
  const { values } = loadConfig(hubRole, { flags: {}, environment: {}, workingDir: '/' })
  return {
    certificateLifeMs: values.certificateLife,
    renewalGraceMs: values.renewalGrace,
    kubernetesCertificateLifeMs: values.kubernetesCertificateLife,
    clusterDomain: values.clusterDomain,
    endpointAddressesOf: () => values.endpointAddresses,
  }
}

/** By which names edges may reach a hub that was told none: those of this machine, or the one address it listens on. */
export function defaultAdvertised({ host }: ListenAddress): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host]
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const usable = addresses.filter(({ address, scopeid }) => !address.includes('%') && !scopeid)
  return [hostname().toLowerCase(), 'localhost', ...new Set(usable.map(({ address }) => address))]
}

/** Both or neither. */
export function filePair(
  certificate: string | undefined,
  key: string | undefined,
  flags: readonly [string, string],
): PairPaths | undefined {
  if (certificate === undefined && key === undefined) return undefined
  if (certificate !== undefined && key !== undefined) return { certificate, key }
  const [given, missing] = certificate === undefined ? flags.toReversed() : flags
  throw new UsageError(`${given} needs ${missing} too: a certificate is of no use without its key`)
}

interface AddressRule {
  readonly pattern: string
  readonly addresses: readonly string[]
}

/** The addresses of a node: those of the first pattern that matches its name, else those of all. */
export function endpointAddressChooser(
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
