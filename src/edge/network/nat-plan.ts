/**
 * Which packets are to be sent to the endpoint, as one nftables table of our own, without touching the kernel. The table is ours
 * by its name, which follows from whose it is; each rule carries a mark that follows from its text, so that a listing tells
 * whether all is as it should be, however the nft at hand spells rules.
 */
import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { canonicalIpAddress } from '../../network/ip-address.ts'
import { isAlwaysThere } from './bind-address.ts'

/** Where every cluster serves `default/kubernetes`; pods read it from their environment. */
const serviceHttpsPort = 443
/** Before kube-proxy (-100), should there be one: the first translation of a connection counts. */
const natPriority = -110
const hooks = ['prerouting', 'output'] as const
type Hook = (typeof hooks)[number]

export interface NatWish {
  readonly table: string
  readonly rules: readonly NatRule[]
  /** Addresses of the service that have no endpoint of their family to go to. */
  readonly unserved: readonly string[]
}

interface NatRule {
  readonly text: string
  readonly mark: string
}

/** The name of an owner's table: the same at every start, so that what a crash left is found again. */
export function natTableName(owner: string): string {
  return `causeway_${createHash('sha256').update(owner).digest('hex').slice(0, 12)}`
}

export interface NatTargets {
  /** The addresses of the service `default/kubernetes`; what is none is passed over. */
  readonly clusterIps: readonly string[]
  /** Where the endpoint listens; none while it is not open. Loopback cannot be a target: packets of pods must not be led there. */
  readonly endpointAddresses: readonly string[]
  readonly endpointPort: number
}

export function planNat(owner: string, { clusterIps, endpointAddresses, endpointPort }: NatTargets): NatWish {
  const sources = [...new Set(canonical(clusterIps))]
  const targets = canonical(endpointAddresses).filter((address) => !isAlwaysThere(address))
  const rules: NatRule[] = []
  const unserved: string[] = []
  for (const source of sources) {
    const target = targets.find((address) => isIPv4(address) === isIPv4(source))
    if (target !== undefined) rules.push(natRule(source, target, endpointPort))
    else if (endpointAddresses.length > 0) unserved.push(source)
  }
  return { table: natTableName(owner), rules, unserved }
}

function canonical(addresses: readonly string[]): string[] {
  return addresses.map(canonicalIpAddress).filter((address) => address !== undefined)
}

function natRule(source: string, target: string, port: number): NatRule {
  const family = isIPv4(source) ? 'ip' : 'ip6'
  const to = isIPv4(target) ? `${target}:${port}` : `[${target}]:${port}`
  const text = `${family} daddr ${source} tcp dport ${serviceHttpsPort} dnat ${family} to ${to}`
  return { text, mark: `causeway ${createHash('sha256').update(text).digest('hex').slice(0, 16)}` }
}

/** Input of `nft -f -`, which does all of it or nothing: what was in our table before is replaced in the same instant. */
export function natScript({ table, rules }: NatWish): string {
  const ruleLines = rules.map(({ text, mark }) => `    ${text} comment "${mark}"\n`).join('')
  const chain = (hook: Hook): string =>
    `  chain ${hook} {\n    type nat hook ${hook} priority ${natPriority}; policy accept;\n${ruleLines}  }\n`
  return `${natRemovalScript(table)}table inet ${table} {\n${hooks.map(chain).join('')}}\n`
}

/** Deletes the table; that there is none is no failure. */
export function natRemovalScript(table: string): string {
  return `table inet ${table}\ndelete table inet ${table}\n`
}

/** Whether a listing of our table shows exactly what is wished for. */
export function isInPlace({ rules }: NatWish, listing: string): boolean {
  const expected = rules.map(({ mark }) => mark)
  const chains = readChains(listing)
  return (
    chains.size === hooks.length &&
    hooks.every((hook) => {
      const [type = '', ...shown] = chains.get(hook) ?? []
      const marks = shown.map((line) => /comment "([^"]*)"/.exec(line)?.[1])
      return type.startsWith(`type nat hook ${hook} `) && sameList(marks, expected)
    })
  )
}

function sameList(a: readonly (string | undefined)[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}

/** The lines of each chain of a listing, its type first. */
function readChains(listing: string): Map<string, string[]> {
  const chains = new Map<string, string[]>()
  let current: string[] | undefined
  for (const line of listing.split('\n').map((each) => each.trim())) {
    const name = /^chain (\S+) \{$/.exec(line)?.[1]
    if (name !== undefined) {
      current = []
      chains.set(name, current)
    } else if (line === '}') current = undefined
    else if (line !== '') current?.push(line)
  }
  return chains
}
