/** IP addresses as certificates carry them: four or sixteen bytes, against one canonical text for each. */
import { isIPv4, isIPv6 } from 'node:net'

const IPV4_BYTES = 4
const IPV6_BYTES = 16
const IPV6_GROUPS = 8

/** `undefined` if the text is no address; zones (`%eth0`) mean nothing in a certificate and are refused. */
export function ipAddressBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number)
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [head = '', tail] = canonicalIpv6(text).split('::')
  const front = groupsOf(head)
  const back = groupsOf(tail ?? '')
  const gap = new Array<number>(IPV6_GROUPS - front.length - back.length).fill(0)
  return Uint8Array.from([...front, ...gap, ...back].flatMap((group) => [group >> 8, group & 0xff]))
}

/** `undefined` if there are neither four nor sixteen bytes. */
export function ipAddressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === IPV4_BYTES) return bytes.join('.')
  if (bytes.length !== IPV6_BYTES) return undefined
  const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? []
  return canonicalIpv6(groups.join(':'))
}

/** The text that every spelling of one address shares: `::1`, not `0:0:0:0:0:0:0:1`. */
export function canonicalIpAddress(text: string): string | undefined {
  const bytes = ipAddressBytes(text)
  return bytes === undefined ? undefined : ipAddressText(bytes)
}

/** The URL parser writes IPv6 in its shortest form, lower case, without an embedded dotted part. */
function canonicalIpv6(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1)
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
