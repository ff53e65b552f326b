/**
 * Addresses that mean something else on every machine: itself, its link, a group of receivers, and the services by which clouds
 * hand credentials to the machine that asks. Whoever connects on behalf of others goes there only where a rule says so.
 */

import { AddressRange } from './address-range.ts'
import { ipAddressBytes } from './ip-address.ts'

const loopback = [new AddressRange('127.0.0.0', 8), new AddressRange('::1', 128)]

const special: readonly AddressRange[] = [
  new AddressRange('0.0.0.0', 8),
  new AddressRange('127.0.0.0', 8),
  new AddressRange('169.254.0.0', 16),
  new AddressRange('224.0.0.0', 4),
  new AddressRange('240.0.0.0', 4),
  // Metadata services outside the link-local range: Azure, Alibaba, Oracle; then AWS and Google over IPv6.
  new AddressRange('168.63.129.16', 32),
  new AddressRange('100.100.100.200', 32),
  new AddressRange('192.0.0.192', 32),
  new AddressRange('fd00:ec2::254', 128),
  new AddressRange('fd20:ce::254', 128),
  new AddressRange('::', 127),
  new AddressRange('fe80::', 10),
  new AddressRange('fec0::', 10),
  new AddressRange('ff00::', 8),
]

/** NAT64 (RFC 6052): the last four bytes are the IPv4 address that is meant. */
const nat64Prefix = Buffer.from('0064ff9b0000000000000000', 'hex')

/** How many bits the special range fixes that holds the address; `undefined` for an ordinary one. `ip` in canonical text. */
export function specialPrefixOf(ip: string): number | undefined {
  const bytes = ipAddressBytes(ip)
  if (bytes?.length === 16 && nat64Prefix.equals(bytes.subarray(0, nat64Prefix.length))) {
    const meant = specialPrefixOf(bytes.subarray(nat64Prefix.length).join('.'))
    return meant === undefined ? undefined : nat64Prefix.length * 8 + meant
  }
  return special.find((range) => range.holds(ip))?.prefix
}

/** What cannot be read is nothing to connect to, and therefore special. */
export function isSpecialAddress(ip: string): boolean {
  return ipAddressBytes(ip) === undefined || specialPrefixOf(ip) !== undefined
}

export function isLoopbackAddress(ip: string): boolean {
  return loopback.some((range) => range.holds(ip))
}
