/**
 * Destinations in one spelling each. What is compared with the addresses of Nodes, told to an edge and held against its policy
 * is always the same text, so that another spelling of an address is not another destination.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { canonicalIpAddress } from '../../identity/ip-address.ts'

/** What the longest DNS name has. */
export const MAX_HOST_LENGTH = 253
/** A name of the longest kind in brackets, a colon and a port: nothing longer is looked at. */
export const MAX_AUTHORITY_LENGTH = 262
const maxPort = 65_535

export interface DestinationHost {
  readonly kind: 'address' | 'name'
  /** Names in lower case without a dot at the end, addresses in their canonical form. */
  readonly text: string
}

export interface Destination {
  readonly host: DestinationHost
  readonly port: number
}

const mappedIpv4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
/** Labels as they occur, underscores included; nothing that could be a path, a user or a space. */
const hostName = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/
/** Resolvers take `127.1`, `0x7f.1` and `2130706433` for addresses: names that end so are none. */
const endsLikeAnAddress = /(^|\.)(\d+|0x[0-9a-f]*)$/

/** `undefined` for what is neither a name nor an address. Zones (`%eth0`) mean nothing on another machine and are refused. */
export function parseHost(text: string): DestinationHost | undefined {
  const address = canonicalAddress(text)
  if (address !== undefined) return { kind: 'address', text: address }
  const name = text.toLowerCase().replace(/\.$/, '')
  if (name.length > MAX_HOST_LENGTH || !hostName.test(name) || endsLikeAnAddress.test(name)) return undefined
  return { kind: 'name', text: name }
}

/** `host:port` with IPv6 addresses in brackets; a text that says what is wrong for everything else. */
export function parseAuthority(text: string): Destination | string {
  if (text.length > MAX_AUTHORITY_LENGTH) return `the destination has more than ${MAX_AUTHORITY_LENGTH} characters`
  const [, bracketed, plain, portText = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(portText)
  const written = bracketed ?? plain ?? ''
  const host = bracketed !== undefined && !isIPv6(bracketed) ? undefined : parseHost(written)
  const isPort = port >= 1 && port <= maxPort && !portText.startsWith('0')
  if (host !== undefined && isPort) return { host, port }
  return `the destination ${JSON.stringify(text)} is not of the form HOST:PORT, such as edge-1:10250 or [fd00::1]:443`
}

export function formatDestination({ host, port }: Destination): string {
  return host.text.includes(':') ? `[${host.text}]:${port}` : `${host.text}:${port}`
}

/** One text for each address; an IPv4 address inside IPv6 is that IPv4 address, for that is where it leads. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const canonical = canonicalIpAddress(text)
  if (canonical === undefined) return undefined
  const [, high, low] = mappedIpv4.exec(canonical) ?? []
  if (high === undefined || low === undefined) return canonical
  const bytes = [high, low].map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff])
  return bytes.join('.')
}
