/**
 * What an agent says it can reach, in its own words: `host=a&ipv4=10.0.0.1&cidr=10.1.0.0/24&default-route=true`. An agent may
 * write anything there; it counts as far as the Node it has proven to be says the same.
 */
import { parseQuery, type RequestQuery } from '../../kube/request-query.ts'
import { ApiError } from '../../kube/status/status.ts'
import { parseHost } from '../routing/destination.ts'
import type { NodeFacts } from '../routing/node-facts.ts'

/** Longer claims are not looked at: a node has a handful of names and addresses. */
export const MAX_IDENTIFIERS_LENGTH = 4_096

const kinds = ['host', 'ipv4', 'ipv6', 'cidr', 'default-route'] as const
export type IdentifierKind = (typeof kinds)[number]

export interface Identifier {
  readonly kind: IdentifierKind
  readonly value: string
}

/** Kinds of later versions are passed over, as the stock server does. `undefined` for what is too long or cannot be read. */
export function parseIdentifiers(text: string): Identifier[] | undefined {
  const query = readQuery(text)
  return query && kinds.flatMap((kind) => query.all(kind).map((value) => ({ kind, value }))).filter(hasValue)
}

function readQuery(text: string): RequestQuery | undefined {
  if (text.length > MAX_IDENTIFIERS_LENGTH) return undefined
  try {
    return parseQuery(text)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function hasValue({ value }: Identifier): boolean {
  return value !== ''
}

/** Whether the Node itself says so. The default route is nobody's own. */
export function isOwn({ kind, value }: Identifier, facts: NodeFacts | undefined): boolean {
  if (facts === undefined || kind === 'default-route') return false
  if (kind === 'cidr') return facts.podCidrs.includes(value)
  const host = parseHost(value)
  if (host === undefined) return false
  if (kind === 'host' && host.kind === 'name') return host.text === facts.name || facts.hostNames.includes(host.text)
  return host.kind === 'address' && facts.addresses.includes(host.text)
}
