/** What discovery is made from: the group versions that this server answers for at the moment. */
import type { ResourceRow } from '../../kube/schema/catalogue.ts'
import type { Priority } from './order.ts'

export interface DiscoveryResource extends ResourceRow {
  /** `group/version` of the kind, where it is spelled out: custom resources do that even for their own. */
  readonly groupVersion?: string
}

export interface DiscoveryGroupVersion {
  /** Empty for core. */
  readonly group: string
  readonly version: string
  readonly priority: Priority
  /** `Stale`: the server behind it does not answer now; the resources are those it was last known to have. */
  readonly freshness: 'Current' | 'Stale'
  readonly resources: readonly DiscoveryResource[]
}

/** Built-in types, custom resources and the aggregator each stand behind this interface. */
export interface DiscoverySource {
  /** Another number means other group versions: documents made before are then made again. */
  readonly generation: number
  groupVersions(): Iterable<DiscoveryGroupVersion>
}

/** Group versions that are there from the start and stay. */
export function fixedDiscovery(groupVersions: readonly DiscoveryGroupVersion[]): DiscoverySource {
  return { generation: 0, groupVersions: () => groupVersions }
}
