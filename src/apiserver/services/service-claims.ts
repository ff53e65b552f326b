/** What a Service has that no other may have: its ClusterIPs and its node ports. */
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, integer, struct, structs, text, texts } from '../kinds/fields.ts'

export type ServiceClaim =
  | { readonly type: 'address'; readonly address: string }
  | { readonly type: 'port'; readonly port: number }

/** All that the Service has and no other may have; nothing for a Service that is not there. */
export function claimsOf(service: KubeObject | undefined): ServiceClaim[] {
  const spec = struct(service, 'spec')
  if (spec === undefined) return []
  return [
    ...addressesOf(spec).map((address) => ({ type: 'address', address }) as const),
    ...nodePortsOf(spec).map((port) => ({ type: 'port', port }) as const),
  ]
}

/** The ClusterIPs of a Service; none for one without, be it headless or a mere name. */
export function addressesOf(spec: Fields): string[] {
  return text(spec, 'type') === 'ExternalName' ? [] : texts(spec, 'clusterIPs').filter((address) => address !== 'None')
}

/** The node ports of a Service, each once: one node port may serve two protocols. */
export function nodePortsOf(spec: Fields): number[] {
  const all = [...structs(spec, 'ports').map((port) => integer(port, 'nodePort')), integer(spec, 'healthCheckNodePort')]
  return [...new Set(all.filter((port) => port !== undefined && port > 0))] as number[]
}
