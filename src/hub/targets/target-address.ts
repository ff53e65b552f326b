/** `host:port` as rules, nodes and operators write it, and the one spelling that all of them share. */
import { ipAddressBytes, ipAddressText } from '../../identity/ip-address.ts'

const maxNameLength = 253
const namePattern = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')
const maxPort = 65_535

export interface TargetAddress {
  /** A DNS name in lower case without the last dot, or an IP address in its canonical text. */
  readonly host: string
  readonly port: number
}

/** `undefined` if it is none. An IPv6 address stands in brackets. */
export function parseTargetAddress(text: string): TargetAddress | undefined {
  const parts = splitHostAndPort(text)
  if (parts === undefined) return undefined
  const host = canonicalHost(parts.host)
  const port = parsePort(parts.port)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Where the server of a kubeconfig listens. `undefined` if the URL names no host that could be dialled. */
export function targetAddressOfUrl(url: URL): TargetAddress | undefined {
  const host = canonicalHost(url.hostname.replace(/^\[|\]$/g, ''))
  const defaultPort = url.protocol === 'http:' ? 80 : 443
  return host === undefined ? undefined : { host, port: url.port === '' ? defaultPort : Number(url.port) }
}

/** The two sides of the colon, neither of them looked at; the brackets of an IPv6 address are gone. */
export function splitHostAndPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const match = /^(?:\[(?<inner>[0-9a-fA-F:.]+)\]|(?<outer>[^:[\]]+)):(?<port>[^:]+)$/.exec(text)?.groups
  const host = match?.inner ?? match?.outer
  return host === undefined || match?.port === undefined ? undefined : { host, port: match.port }
}

export function parsePort(text: string): number | undefined {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= maxPort ? port : undefined
}

/** `undefined` if it is neither an IP address nor a name that DNS could know. */
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
