/**
 * Addresses that mean something else at the hub than anywhere: its own machine, its own link, and the services by which
 * clouds hand credentials to the machine that asks. A stream leads there only where a rule names the address itself.
 */
import { BlockList, isIPv4 } from 'node:net'
import { ipAddressBytes } from '../../identity/ip-address.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const special = new BlockList()
special.addSubnet('0.0.0.0', 8)
special.addSubnet('127.0.0.0', 8)
special.addSubnet('169.254.0.0', 16)
special.addSubnet('224.0.0.0', 4)
special.addSubnet('240.0.0.0', 4)
// Metadata services outside the link-local range: Azure, Alibaba, Oracle; then AWS and Google over IPv6.
special.addAddress('168.63.129.16')
special.addAddress('100.100.100.200')
special.addAddress('192.0.0.192')
special.addAddress('fd00:ec2::254', 'ipv6')
special.addAddress('fd20:ce::254', 'ipv6')
special.addSubnet('::', 127, 'ipv6')
special.addSubnet('fe80::', 10, 'ipv6')
special.addSubnet('fec0::', 10, 'ipv6')
special.addSubnet('ff00::', 8, 'ipv6')

/** NAT64 (RFC 6052): the last four bytes are the IPv4 address that is meant. */
const nat64Prefix = Buffer.from('0064ff9b0000000000000000', 'hex')

/** `ip` is in the form of `canonicalIp`. */
export function isSpecialAddress(ip: string): boolean {
  if (isIPv4(ip)) return special.check(ip)
  const bytes = ipAddressBytes(ip)
  // What cannot be read is nothing to connect to.
  if (bytes === undefined) return true
  if (nat64Prefix.equals(bytes.subarray(0, nat64Prefix.length)))
    return special.check(bytes.subarray(nat64Prefix.length).join('.'))
  return special.check(ip, 'ipv6')
}

export function isLoopbackAddress(ip: string): boolean {
  return loopback.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6')
}
