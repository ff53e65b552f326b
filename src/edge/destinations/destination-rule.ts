/**
 * What an operator lets hubs reach from this node: `HOST:PORT`.
 *
 *   HOST  a DNS name, an IP address, or a range of them (`10.0.0.0/8`, `[fd00::/8]`)
 *   PORT  a number, or `*` for every port
 *
 * Names are compared with names and addresses with addresses: asking for a name never tells a hub what it resolves to here.
 */
import { AddressRange } from '../../network/address-range.ts'
import { canonicalHost, canonicalIp } from '../../network/host.ts'
import { type HostPort, parsePort, splitHostPort } from '../../network/host-port.ts'
import { specialPrefixOf } from '../../network/special-address.ts'

export interface DestinationRule {
  /** A name, or the first address of a range. */
  readonly host: string
  /** Bits that the range fixes; absent for a name. */
  readonly prefix: number | undefined
  /** Absent: every port. */
  readonly port: number | undefined
}

export class DestinationRuleError extends Error {
  override readonly name = 'DestinationRuleError'
}

export function parseDestinationRules(texts: readonly string[]): readonly DestinationRule[] {
  return texts.map(parseDestinationRule)
}

export function parseDestinationRule(text: string): DestinationRule {
  const parts = splitHostPort(text)
  if (parts === undefined) throw malformed(text, 'it has no port')
  const port = parts.port === '*' ? undefined : parsePort(parts.port)
  if (port === undefined && parts.port !== '*') throw malformed(text, `${JSON.stringify(parts.port)} is not a port`)
  return { ...ruleHost(text, parts.host), port }
}

function ruleHost(text: string, hostText: string): Pick<DestinationRule, 'host' | 'prefix'> {
  const [base = '', bits, ...more] = hostText.split('/')
  const host = canonicalHost(base)
  if (host === undefined || more.length > 0) throw malformed(text, `${JSON.stringify(hostText)} is not a host`)
  const widest = canonicalIp(host) === undefined ? undefined : host.includes(':') ? 128 : 32
  if (bits === undefined) return { host, prefix: widest }
  const prefix = /^[0-9]{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (widest === undefined || !(prefix <= widest)) throw malformed(text, `${JSON.stringify(hostText)} is not a range`)
  return { host, prefix }
}

function malformed(text: string, problem: string): DestinationRuleError {
  return new DestinationRuleError(
    `allowed destination ${JSON.stringify(text)}: ${problem}; write HOST:PORT, for example ` +
      'metrics.local:9100, 10.1.2.3:443, 10.0.0.0/8:* or [fd00::/8]:443',
  )
}

/**
 * A special address (loopback, link-local, metadata) counts as covered only by a rule that speaks of nothing else: `0.0.0.0/0`
 * means the network, not this machine.
 */
export function ruleCovers({ host, prefix, port }: DestinationRule, asked: HostPort): boolean {
  if (port !== undefined && port !== asked.port) return false
  if (prefix === undefined) return host === asked.host
  const ip = canonicalIp(asked.host)
  if (ip === undefined || !new AddressRange(host, prefix).holds(ip)) return false
  const special = specialPrefixOf(ip)
  return special === undefined || prefix >= special
}
