/** What discovery is made from: the group versions that this server answers for at the moment. */
import type { ResourceRow } from '../../kube/schema/catalogue.ts'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
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

/** A source that changes at run time. What is registered later under the same name replaces what was there. */
export class DiscoveryRegistry implements DiscoverySource {
  readonly #groupVersions = new Map<string, DiscoveryGroupVersion>()
  #generation = 0

  constructor(initial: Iterable<DiscoveryGroupVersion> = []) {
    for (const groupVersion of initial) this.#groupVersions.set(nameOf(groupVersion), groupVersion)
  }

  get generation(): number {
    return this.#generation
  }

  groupVersions(): Iterable<DiscoveryGroupVersion> {
    return this.#groupVersions.values()
  }

  set(groupVersion: DiscoveryGroupVersion): void {
    this.#groupVersions.set(nameOf(groupVersion), groupVersion)
    this.#generation++
  }

  delete(group: string, version: string): void {
    if (this.#groupVersions.delete(nameOf({ group, version }))) this.#generation++
  }
}

function nameOf({ group, version }: { group: string; version: string }): string {
  return joinGroupVersion(group, version)
}
