/**
 * Destinations in one spelling each. What is compared with the addresses of Nodes, told to an edge and held against its policy
 * is always the same text, so that another spelling of an address is not another destination.
 */
import { canonicalIp, canonicalName } from '../../network/host.ts'
import { parsePort, splitHostPort } from '../../network/host-port.ts'

/** A name of the longest kind in brackets, a colon and a port: nothing longer is looked at. */
const MAX_AUTHORITY_LENGTH = 262

export interface DestinationHost {
  readonly kind: 'address' | 'name'
  /** Names in lower case without a dot at the end, addresses in their canonical form. */
  readonly text: string
}

export interface Destination {
  readonly host: DestinationHost
  readonly port: number
}

/** `undefined` for what is neither a name nor an address. */
export function parseHost(text: string): DestinationHost | undefined {
  const address = canonicalIp(text)
  if (address !== undefined) return { kind: 'address', text: address }
  const name = canonicalName(text)
  return name === undefined ? undefined : { kind: 'name', text: name }
}

/** `host:port` with IPv6 addresses in brackets; a text that says what is wrong for everything else. */
export function parseAuthority(text: string): Destination | string {
  if (text.length > MAX_AUTHORITY_LENGTH) return `the destination has more than ${MAX_AUTHORITY_LENGTH} characters`
  const parts = splitHostPort(text)
  const host = parts && parseHost(parts.host)
  const port = parts && parsePort(parts.port)
  if (host !== undefined && port !== undefined) return { host, port }
  return `the destination ${JSON.stringify(text)} is not of the form HOST:PORT, such as edge-1:10250 or [fd00::1]:443`
}

export function formatDestination({ host, port }: Destination): string {
  return host.text.includes(':') ? `[${host.text}]:${port}` : `${host.text}:${port}`
}
