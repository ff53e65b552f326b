/** `host:port` as a hub asks for it, and the one spelling by which it is compared with what is allowed. */
import { BlockList, isIPv4 } from 'node:net'
import { ipAddressBytes, ipAddressText } from '../../identity/ip-address.ts'

const maxPort = 65_535
const maxNameLength = 253
const namePattern = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

export interface DestinationAddress {
  /** A DNS name in lower case without the last dot, or an IP address in its canonical text. */
  readonly host: string
  readonly port: number
}

/** `undefined` if it is none: an IPv6 address stands in brackets, and nothing but hosts with ports is meant. */
export function parseDestination(text: string): DestinationAddress | undefined {
  const parts = splitHostAndPort(text)
  const host = parts && canonicalHost(parts.host)
  const port = parts && parsePort(parts.port)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** The two sides of the last colon, neither of them looked at; brackets are gone. */
export function splitHostAndPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const match = /^(?:\[(?<inner>[^[\]]+)\]|(?<outer>[^:[\]]+)):(?<port>[^:]+)$/.exec(text)?.groups
  const host = match?.['inner'] ?? match?.['outer']
  const port = match?.['port']
  return host === undefined || port === undefined ? undefined : { host, port }
}

export function parsePort(text: string): number | undefined {
  const port = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= maxPort ? port : undefined
}

export function canonicalHost(text: string): string | undefined {
  const ip = canonicalIp(text)
  if (ip !== undefined) return ip
  const name = text.toLowerCase().replace(/\.$/, '')
  return name.length <= maxNameLength && namePattern.test(name) ? name : undefined
}

/** One text for each address; an IPv4 address inside IPv6 (`::ffff:a.b.c.d`) is that IPv4 address. */
export function canonicalIp(text: string): string | undefined {
  const bytes = ipAddressBytes(text)
  if (bytes === undefined) return undefined
  const isMapped = bytes.length === 16 && mappedPrefix.equals(bytes.subarray(0, mappedPrefix.length))
  return ipAddressText(isMapped ? bytes.subarray(mappedPrefix.length) : bytes)
}

/** Ranges of addresses that mean something else on every machine: itself, its link, whoever hands out its credentials. */
const specialRanges: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Metadata services outside the link-local range: Azure, Alibaba, Oracle; then AWS and Google over IPv6.
  ['168.63.129.16', 32],
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
  ['::', 127],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

/** NAT64 (RFC 6052): the last four bytes are the IPv4 address that is meant. */
const nat64Prefix = Buffer.from('0064ff9b0000000000000000', 'hex')

/** How many bits the special range fixes that holds the address; `undefined` for an ordinary address. */
export function specialPrefixOf(ip: string): number | undefined {
  const bytes = ipAddressBytes(ip)
  if (bytes?.length === 16 && nat64Prefix.equals(bytes.subarray(0, nat64Prefix.length))) {
    const meant = specialPrefixOf(bytes.subarray(nat64Prefix.length).join('.'))
    return meant === undefined ? undefined : nat64Prefix.length * 8 + meant
  }
  return specialRanges.find(([base, prefix]) => rangeHolds(base, prefix, ip))?.[1]
}

export function rangeHolds(base: string, prefix: number, ip: string): boolean {
  const family = isIPv4(base) ? 'ipv4' : 'ipv6'
  if (isIPv4(ip) !== (family === 'ipv4')) return false
  const range = new BlockList()
  range.addSubnet(base, prefix, family)
  return range.check(ip, family)
}
