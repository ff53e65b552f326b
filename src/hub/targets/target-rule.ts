/**
 * What an operator allows: `[NODES=]HOST:PORT`.
 *
 *   NODES  node names, separated by commas, `*` for any characters; absent: every node
 *   HOST   a DNS name, an IP address, `*.domain` for every name below that domain, or `*` for every host
 *   PORT   a number, or `*` for every port
 */
import { tokenCovers } from '../../identity/join-token.ts'
import { canonicalDomain, canonicalHost, canonicalIp } from '../../network/host.ts'
import { type HostPort, parsePort, splitHostPort } from '../../network/host-port.ts'

export interface TargetRule {
  /** Patterns of node names; `undefined` is every node. */
  readonly nodes: readonly string[] | undefined
  /** A host, `*.domain`, or `*`. */
  readonly host: string
  /** `undefined` is every port. */
  readonly port: number | undefined
}

export class TargetRuleError extends Error {
  override readonly name = 'TargetRuleError'
}

const nodePattern = /^[-a-z0-9.*]+$/

export function parseTargetRule(text: string): TargetRule {
  const [first = '', ...rest] = text.split('=')
  const [nodes, address] = rest.length === 0 ? [undefined, first] : [first.split(','), rest.join('=')]
  const wrong = nodes?.find((node) => !nodePattern.test(node))
  if (wrong !== undefined) throw malformed(text, `${JSON.stringify(wrong)} is not the name of a node, nor a pattern`)
  const parts = splitHostPort(address)
  if (parts === undefined) throw malformed(text, `${JSON.stringify(address)} has no port`)
  const host = ruleHost(parts.host)
  if (host === undefined) throw malformed(text, `${JSON.stringify(parts.host)} is not a host`)
  const port = parts.port === '*' ? undefined : parsePort(parts.port)
  if (port === undefined && parts.port !== '*') throw malformed(text, `${JSON.stringify(parts.port)} is not a port`)
  return { nodes, host, port }
}

function malformed(text: string, problem: string): TargetRuleError {
  return new TargetRuleError(
    `allowed target ${JSON.stringify(text)}: ${problem}; write HOST:PORT or NODES=HOST:PORT, ` +
      'for example db.example:5432, *.example:443 or store-*=10.0.0.7:8080',
  )
}

function ruleHost(text: string): string | undefined {
  if (text === '*') return text
  if (!text.startsWith('*.')) return canonicalHost(text)
  const domain = canonicalDomain(text.slice(2))
  return domain === undefined || canonicalIp(domain) !== undefined ? undefined : `*.${domain}`
}

export function ruleCovers(rule: TargetRule, node: string, { host, port }: HostPort): boolean {
  if (rule.port !== undefined && rule.port !== port) return false
  if (rule.nodes !== undefined && !rule.nodes.some((pattern) => tokenCovers(pattern, node))) return false
  if (rule.host === '*' || rule.host === host) return true
  return rule.host.startsWith('*.') && canonicalIp(host) === undefined && host.endsWith(rule.host.slice(1))
}

/** Whether the rule covers it by its own name and not by a pattern. */
export function ruleNames(rule: TargetRule, node: string, address: HostPort): boolean {
  return rule.host === address.host && ruleCovers(rule, node, address)
}
