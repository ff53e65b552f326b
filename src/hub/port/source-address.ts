/** Addresses as limits count them. */
import { isIPv4, isIPv6 } from 'node:net'
import { ipAddressBytes } from '../../network/ip-address.ts'

/** Whoever has one IPv6 address has all of its network: this many bytes name it. */
const ipv6NetworkBytes = 8
const mappedPrefix = '::ffff:'

/** An IPv4 address as it is, an IPv6 address as its /64 network. */
export function sourceOf(address: string): string {
  const mapped = address.toLowerCase().startsWith(mappedPrefix) ? address.slice(mappedPrefix.length) : ''
  if (isIPv4(mapped)) return mapped
  const [withoutZone = ''] = address.split('%')
  const bytes = isIPv6(withoutZone) ? ipAddressBytes(withoutZone) : undefined
  if (bytes === undefined) return address
  return `${Buffer.from(bytes.subarray(0, ipv6NetworkBytes)).toString('hex')}/64`
}
