/** What routing knows of a Node. */
import type { Node } from '../../kube/client/types.ts'
import type { Labels } from '../../kube/selectors/label-requirement.ts'
import { type DestinationHost, parseHost } from './destination.ts'
import { isLoopbackHost, isSpecialHost } from './special-host.ts'

/** Beyond this a Node's further addresses do not count: real ones have a handful, and the rest is somebody trying something. */
export const MAX_NODE_ADDRESSES = 64

export interface NodeFacts {
  readonly name: string
  /** Canonical, of every type: an API server dials one of them, or a host name. None that means another thing elsewhere. */
  readonly addresses: readonly string[]
  /** Host names other than the Node's own, canonical. */
  readonly hostNames: readonly string[]
  readonly podCidrs: readonly string[]
  readonly labels: Labels
}

/** What Services are called inside a cluster; no machine has such a name. */
const serviceName = /\.svc(\.|$)/

/** Types whose addresses are written on purpose; host names are what a machine happens to call itself. */
const addressTypes: ReadonlySet<string> = new Set(['InternalIP', 'ExternalIP'])

interface PodCidrs {
  readonly podCIDR?: string
  readonly podCIDRs?: readonly string[]
}

export function nodeFacts(node: Node): NodeFacts {
  const name = node.metadata?.name ?? ''
  const listed = (node.status?.addresses ?? []).slice(0, MAX_NODE_ADDRESSES)
  const hosts = listed.flatMap(({ type, address }) => {
    const host = parseHost(address)
    return host !== undefined && mayClaim(host, type) ? host : []
  })
  const textsOf = (kind: 'address' | 'name'): string[] => [
    ...new Set(hosts.filter((host) => host.kind === kind).map(({ text }) => text)),
  ]
  const { podCIDR, podCIDRs = [] } = (node.spec ?? {}) as PodCidrs
  const ranges = [...(podCIDR ? [podCIDR] : []), ...podCIDRs].slice(0, MAX_NODE_ADDRESSES)
  return {
    name,
    addresses: textsOf('address'),
    hostNames: textsOf('name').filter((text) => text !== name && !serviceName.test(text)),
    podCidrs: [...new Set(ranges)],
    labels: node.metadata?.labels ?? {},
  }
}

/**
 * A special address is nobody's, whoever reports it. The one exception is for a cluster on a single machine, whose Node has
 * loopback for its address: it is not taken from anybody, because without that Node nothing is routed there.
 */
function mayClaim(host: DestinationHost, type: string): boolean {
  if (!isSpecialHost(host)) return true
  return host.kind === 'address' && isLoopbackHost(host) && addressTypes.has(type)
}

/** Nodes report every few seconds and hardly ever change in what matters here. */
export function sameFacts(a: NodeFacts, b: NodeFacts): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
