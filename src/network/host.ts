/**
 * Hosts in one spelling each. What is compared with rules and with the addresses of Nodes, told to the other end and dialled is
 * always the same text, so that another spelling of a host is not another host.
 */
import { ipAddressBytes, ipAddressText } from './ip-address.ts'

/** What the longest DNS name has. */
const MAX_HOST_LENGTH = 253
/** Labels as they occur, underscores included; nothing that could be a path, a user or a space. */
const namePattern = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/
/** Resolvers take `127.1`, `0x7f.1` and `2130706433` for addresses: names that end so are none. */
const endsLikeAnAddress = /(^|\.)(\d+|0x[0-9a-f]*)$/
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/** One text for each address; an IPv4 address inside IPv6 (`::ffff:a.b.c.d`) is that IPv4 address: it leads there. */
export function canonicalIp(text: string): string | undefined {
  const bytes = ipAddressBytes(text)
  if (bytes === undefined) return undefined
  const isMapped = bytes.length === 16 && mappedPrefix.equals(bytes.subarray(0, mappedPrefix.length))
  return ipAddressText(isMapped ? bytes.subarray(mappedPrefix.length) : bytes)
}

/** A domain in lower case without the last dot; `undefined` for what DNS could not know. */
export function canonicalDomain(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '')
  return name.length <= MAX_HOST_LENGTH && namePattern.test(name) ? name : undefined
}

/** A domain that can be the name of a host: no resolver would take it for an address. */
export function canonicalName(text: string): string | undefined {
  const name = canonicalDomain(text)
  return name === undefined || endsLikeAnAddress.test(name) ? undefined : name
}

/** `undefined` for what is neither an address nor a name. Zones (`%eth0`) mean nothing on another machine and are refused. */
export function canonicalHost(text: string): string | undefined {
  return canonicalIp(text) ?? canonicalName(text)
}
